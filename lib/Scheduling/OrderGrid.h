//===- OrderGrid.h - pictures of errors in orders ---------------*- C++ -*-===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The picture in an error about a schedule: for every rank involved, a part of
// its order, with the steps in question in brackets and aligned. Steps count
// from 0. No times are needed, so it also works for schedules that cannot run.
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

/// The picture of `marks`: a heading and a row per rank in the order of the
/// marks (at most eight), without a trailing newline. `length` returns the
/// number of steps of a rank, `text` the text of one.
std::string
drawMarks(const std::vector<OrderMark> &marks,
          const std::function<size_t(int64_t rank)> &length,
          const std::function<std::string(int64_t rank, size_t step)> &text);

/// An error with `message` and, as a note, the picture of `marks` in
/// `schedule`; "&" precedes the second action of a pair.
Error errorAt(std::string message, const Schedule &schedule,
              const std::vector<OrderMark> &marks);

} // namespace stagewright

#endif // STAGEWRIGHT_LIB_SCHEDULING_ORDERGRID_H
