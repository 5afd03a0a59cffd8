//===- Window.cpp - the order with a bound --------------------------------===//
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
// A microbatch moves on by one block in every window: compute, transfer,
// compute, ... down the stages and back up, the last stage's forward and
// backward in one window. Stage i is reached in window 2 i and left in window
// 4 (p - 1) - 2 i, so that it runs 4 (p - 1 - i) forwards before the first
// backward; inside a window the backward goes first. A resource has at most one
// forward and one backward in a window, hence the bound of planners.md 1.6.
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
