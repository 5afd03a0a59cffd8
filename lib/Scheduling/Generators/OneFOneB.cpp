//===- OneFOneB.cpp - one forward, one backward ---------------------------===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
//   rank 0 FFFF      BBFBBFBBFBBFBB BB BB BB
//          0123      00411522633744 55 66 77
//   rank 1  FFF    BBFBBFBBFBBFBBFBB BB BB
//           012    00311422533644755 66 77
//   rank 2   FF  BBFBBFBBFBBFBBFBBFBB BB
//            01  00211322433544655766 77
//   rank 3    FBBFBBFBBFBBFBBFBBFBBFBB
//             000111222333444555666777
//
// Rank r warms up with p - r forwards: the number of microbatches in flight
// from it to the last stage and back when its first gradient arrives.
//
//===----------------------------------------------------------------------===//

#include "Alternate.h"

namespace stagewright {

Result<Schedule> generateOneFOneB(const ScheduleShape &shape) {
  return alternate("1f1b", shape, [](int64_t ahead, int64_t) { return ahead; });
}

} // namespace stagewright
