//===- EarlyBackward.cpp - 1F1B with room for transfers -------------------===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Two stages, six microbatches (a backward takes two slots):
//
//   rank 0 |F0|F1|F2|  |B0   |F3|B1   |F4|B2   |F5|B3   |  |B4   |  |B5   |
//   rank 1    |F0|B0   |F1|B1   |F2|B2   |F3|B3   |F4|B4   |F5|B5   |
//
// Rank r warms up with 2 (p - r) - 1 forwards, about two for every hop to the
// last stage: while one microbatch is computed on, another is on the wire.
// 1F1B, one forward for every hop, waits for every transfer.
//
//===----------------------------------------------------------------------===//

#include "Alternate.h"

namespace stagewright {

Result<Schedule> generateEarlyBackward(const ScheduleShape &shape) {
  return alternate("early-backward", shape,
                   [](int64_t ranksFromEnd) { return 2 * ranksFromEnd - 1; });
}

} // namespace stagewright
