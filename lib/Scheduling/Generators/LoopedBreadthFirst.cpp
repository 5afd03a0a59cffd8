//===- LoopedBreadthFirst.cpp - breadth first, backwards reversed ---------===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Two chunks, the second in small letters:
//
//   rank 0 FFFFFFFFffffffff         bbbbbbbbbbbbbbbbBBBBBBBBBBBBBBBB
//          0123456701234567         77665544332211007766554433221100
//   rank 1  FFFFFFFFffffffff      bbbbbbbbbbbbbbbbBBBBBBBBBBBBBBBB
//           0123456701234567      77665544332211007766554433221100
//   rank 2   FFFFFFFFffffffff   bbbbbbbbbbbbbbbbBBBBBBBBBBBBBBBB
//            0123456701234567   77665544332211007766554433221100
//   rank 3    FFFFFFFFffffffffbbbbbbbbbbbbbbbbBBBBBBBBBBBBBBBB
//             012345670123456777665544332211007766554433221100
//
// Every rank runs its backwards in the reverse order of its forwards.
//
//===----------------------------------------------------------------------===//

#include "ChunkByChunk.h"

namespace stagewright {

Result<Schedule> generateLoopedBreadthFirst(const ScheduleShape &shape) {
  return chunkByChunk("looped-bfs", shape, /*decreasing=*/true);
}

} // namespace stagewright
