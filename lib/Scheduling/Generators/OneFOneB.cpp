//===- OneFOneB.cpp - one forward, one backward ---------------------------===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Two stages, four microbatches (a backward takes two slots):
//
//   rank 0 |F0|F1|     |B0   |F2|B1   |F3|B2   |  |B3   |
//   rank 1    |F0|B0   |F1|B1   |F2|B2   |F3|B3   |
//
// Rank r warms up with p - r forwards, as many as microbatches are on the way
// to the last stage and back when its first gradient comes.
//
//===----------------------------------------------------------------------===//

#include "Alternate.h"

namespace stagewright {

Result<Schedule> generateOneFOneB(const ScheduleShape &shape) {
  return alternate("1f1b", shape,
                   [](int64_t ranksFromEnd) { return ranksFromEnd; });
}

} // namespace stagewright
