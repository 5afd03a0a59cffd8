//===- LoopWithin.h - a loop with limited memory ----------------*- C++ -*-===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Private to this folder: list scheduling for loop placement with I and W
// separate. All actions take one slot; in each slot every rank runs the first
// of its available actions:
//
//   1. an I, of the oldest microbatch;
//   2. a forward of the oldest group of p microbatches; in that group, of the
//      first chunk; on that chunk, of the oldest microbatch;
//   3. the oldest W.
//
// Once all forwards of a rank have run, W of its last chunk come first, so that
// the gradients of that chunk are complete first. A W goes before an I or F if
// the rank would otherwise hold more than `most` microbatches in all its
// chunks; on a chunk, a microbatch between its I and its W counts twice, as
// gradients are held in addition to inputs. A microbatch enters only while
// fewer than `most` + ceil(p / 8) are between their first forward and their
// last I. Only the entry is blocked, never a microbatch that has entered, so
// the limits cannot cause a deadlock.
//
//===----------------------------------------------------------------------===//

#ifndef STAGEWRIGHT_SCHEDULING_GENERATORS_LOOPWITHIN_H
#define STAGEWRIGHT_SCHEDULING_GENERATORS_LOOPWITHIN_H

#include "stagewright/Scheduling/Generators.h"

namespace stagewright {

/// The order described above for `most` = p, or p + ceil(p / 8) if `wide`.
/// `kind` is the name of the generator.
Result<Schedule> loopWithin(const char *kind, const ScheduleShape &shape,
                            bool wide);

} // namespace stagewright

#endif // STAGEWRIGHT_SCHEDULING_GENERATORS_LOOPWITHIN_H
