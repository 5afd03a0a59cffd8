//===- Interleaved.cpp - 1F1B with several chunks per rank ----------------===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Two chunks, the second in lower case:
//
//   rank 0 FFFFffffFFF   bbFbb fbbfbbfBBfBBBB BB bb bb bb bbBBBBBBBB
//          01230123456   00711 42253360071122 33 44 55 66 7744556677
//   rank 1  FFFFffffF  bbFbbFbbFbbfBBfBBfBBfBB bb bb bb bbBBBBBBBB
//           012301234  00511622733400511622733 44 55 66 7744556677
//   rank 2   FFFFfff bbfbbFbbFbbFBBFBBfBBfBBfbbfbb bb bbBBBBBBBB
//            0123012 00311422533600711422533644755 66 7744556677
//   rank 3    FFFFfbbfbbfbbfbbFBBFBBFBBFBBfbbfbbfbbfbbBBBBBBBB
//             012300011122233340051162273344455566677744556677
//
// Depth first: a microbatch soon returns to the rank for its next chunk. With
// more chunks the last rank starts earlier, but each chunk adds hops. Rank r
// warms up with two forwards for every hop to the last rank and one group for
// every chunk but one.
//
//===----------------------------------------------------------------------===//

#include "Rounds.h"

namespace stagewright {

Result<Schedule> generateInterleaved(const ScheduleShape &shape) {
  return depthFirst("interleaved", shape, /*forwardsPerHop=*/2,
                    /*split=*/false);
}

} // namespace stagewright
