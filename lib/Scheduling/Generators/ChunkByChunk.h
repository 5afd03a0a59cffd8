//===- ChunkByChunk.h - all microbatches through a chunk --------*- C++ -*-===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Private to this folder: breadth-first orders.
//
//===----------------------------------------------------------------------===//

#ifndef STAGEWRIGHT_SCHEDULING_GENERATORS_CHUNKBYCHUNK_H
#define STAGEWRIGHT_SCHEDULING_GENERATORS_CHUNKBYCHUNK_H

#include "stagewright/Scheduling/Generators.h"

namespace stagewright {

/// All forwards, chunk by chunk, then all backwards from the last chunk to the
/// first; backwards take microbatches in increasing or `decreasing` order.
Result<Schedule> chunkByChunk(const char *kind, const ScheduleShape &shape,
                              bool decreasing);

} // namespace stagewright

#endif // STAGEWRIGHT_SCHEDULING_GENERATORS_CHUNKBYCHUNK_H
