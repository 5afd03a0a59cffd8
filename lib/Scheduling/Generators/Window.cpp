//===- Window.cpp - 1F1B with a proved bound ------------------------------===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
//   rank 0 FFFFFFFF   BBBB BB BB BB BB BB BB
//          01234567   0011 22 33 44 55 66 77
//   rank 1  FFFFFFFFBBBB BB BB BB BB BB BB
//           012345670011 22 33 44 55 66 77
//   rank 2   FFFFBBFBBFBBFBBFBB BB BB BB
//            012300411522633744 55 66 77
//   rank 3    FBBFBBFBBFBBFBBFBBFBBFBB
//             000111222333444555666777
//
// Time is divided into windows, and in each a microbatch advances by one block:
// compute, transfer, compute, ... to the last stage and back. The last stage
// runs forward and backward in one window. Stage i runs the forward of
// microbatch m in window m + 2 i and the backward in m + 4 (p - 1) - 2 i,
// so it runs 4 (p - 1 - i) forwards before the first backward; in a window
// the backward goes first. A resource has at most one forward and one backward
// in a window, hence the bound of docs/planner.md, section 5.
//
//===----------------------------------------------------------------------===//

#include "Alternate.h"
#include <algorithm>

namespace stagewright {

Result<Schedule> generateWindow(const ScheduleShape &shape) {
  return alternate("window", shape, [](int64_t ahead, int64_t own) {
    return std::max(own, 4 * (ahead - own));
  });
}

} // namespace stagewright
