//===- OrderGrid.h - the place of an error in the orders --------*- C++ -*-===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What an error about a schedule shows: of every rank concerned a window of its
// order, the steps in question in brackets and below one another. Steps count
// from 0. It needs no times, so that it can show what cannot run.
//
//   the steps in brackets:
//   rank 0, step 2: 0F0 0F1 [0B0] 0F2 0B1 ...
//   rank 1, step 1:     1F0 [1F1] 1B0 1F2 ...
//
//===----------------------------------------------------------------------===//

#ifndef STAGEWRIGHT_LIB_SCHEDULING_ORDERGRID_H
#define STAGEWRIGHT_LIB_SCHEDULING_ORDERGRID_H

#include "stagewright/Scheduling/Schedule.h"
#include <functional>

namespace stagewright {

/// A step of a rank's order.
struct OrderMark {
  int64_t rank = 0;
  size_t step = 0;
};

/// The picture of `marks`, a line about it and a row per rank in the order in
/// which they come (eight at most), without a newline at its end. `length` says
/// how many steps a rank has, `text` what one is.
std::string
drawMarks(const std::vector<OrderMark> &marks,
          const std::function<size_t(int64_t rank)> &length,
          const std::function<std::string(int64_t rank, size_t step)> &text);

/// `message` with the picture of `marks` in `schedule` as its note; & stands
/// before the second of a pair.
Error errorAt(std::string message, const Schedule &schedule,
              const std::vector<OrderMark> &marks);

} // namespace stagewright

#endif // STAGEWRIGHT_LIB_SCHEDULING_ORDERGRID_H
