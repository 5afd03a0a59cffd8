//===- Alternate.h - forwards first, then by turns --------------*- C++ -*-===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Private to this room: the schedules of one stage per rank that differ only in
// how many forwards a rank runs before its first backward.
//
//===----------------------------------------------------------------------===//

#ifndef STAGEWRIGHT_SCHEDULING_GENERATORS_ALTERNATE_H
#define STAGEWRIGHT_SCHEDULING_GENERATORS_ALTERNATE_H

#include "stagewright/Scheduling/Generators.h"

namespace stagewright {

/// Forwards before the first backward, of a rank that has `own` replicas, with
/// `ahead` on it and the ranks behind it: 1 and p - r where every rank has one.
/// At least 1, and n times as many for n times the replicas.
using WarmUp = std::function<int64_t(int64_t ahead, int64_t own)>;

/// A rank runs as many forwards as `warmUp` says, then one backward and one
/// forward by turns; holds as many activations as that, at most M.
Result<Schedule> alternate(const char *kind, const ScheduleShape &shape,
                           const WarmUp &warmUp);

} // namespace stagewright

#endif // STAGEWRIGHT_SCHEDULING_GENERATORS_ALTERNATE_H
