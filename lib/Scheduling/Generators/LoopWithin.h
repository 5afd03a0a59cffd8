//===- LoopWithin.h - a loop with a limit on what it holds ------*- C++ -*-===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Private to this room: list scheduling of chunks around the devices, with I
// and W apart. All actions take one slot; in each slot every rank runs the
// first of what has arrived:
//
//   1. an I, of the oldest microbatch;
//   2. a forward, of the oldest group of p microbatches, of that the first
//      chunk, of that the oldest microbatch;
//   3. a W, the oldest,
//
// and once all its forwards have run, that of the last chunk, whose gradients
// are then whole first. A W goes before an I or F where the rank would
// otherwise hold more than `most` microbatches in all its chunks; a chunk
// between I and W counts twice, as its gradients are held beside its inputs. A
// microbatch enters only while fewer than `most` and ceil(p / 8) more are
// between their first forward and their last I. What is limited is what enters,
// never what goes on, so that no limit can stop the loop.
//
//===----------------------------------------------------------------------===//

#ifndef STAGEWRIGHT_SCHEDULING_GENERATORS_LOOPWITHIN_H
#define STAGEWRIGHT_SCHEDULING_GENERATORS_LOOPWITHIN_H

#include "stagewright/Scheduling/Generators.h"

namespace stagewright {

/// The order described above for `most` = p, or where it is `wide` ceil(p / 8)
/// more; `kind` is the name of the generator.
Result<Schedule> loopWithin(const char *kind, const ScheduleShape &shape,
                            bool wide);

} // namespace stagewright

#endif // STAGEWRIGHT_SCHEDULING_GENERATORS_LOOPWITHIN_H
