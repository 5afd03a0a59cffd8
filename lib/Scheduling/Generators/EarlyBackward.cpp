//===- EarlyBackward.cpp - 1F1B with time for transfers -------------------===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
//   rank 0 FFFFFFF   BBFBB BB BB BB BB BB BB
//          0123456   00711 22 33 44 55 66 77
//   rank 1  FFFFF  BBFBBFBBFBB BB BB BB BB
//           01234  00511622733 44 55 66 77
//   rank 2   FFF BBFBBFBBFBBFBBFBB BB BB
//            012 00311422533644755 66 77
//   rank 3    FBBFBBFBBFBBFBBFBBFBBFBB
//             000111222333444555666777
//
// Rank r warms up with 2 (p - r) - 1 forwards, one and two more for every hop
// to the last stage: one microbatch is computed while another is transferred.
// 1F1B, with one more for every hop, waits for every transfer.
//
//===----------------------------------------------------------------------===//

#include "Alternate.h"

namespace stagewright {

Result<Schedule> generateEarlyBackward(const ScheduleShape &shape) {
  return alternate("early-backward", shape,
                   [](int64_t ahead, int64_t own) { return 2 * ahead - own; });
}

} // namespace stagewright
