//===- Alternate.h - warm-up, then alternating B and F ----------*- C++ -*-===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Private to this folder: the schedules with one stage per rank that differ
// only in how many forwards a rank runs before its first backward.
//
//===----------------------------------------------------------------------===//

#ifndef STAGEWRIGHT_SCHEDULING_GENERATORS_ALTERNATE_H
#define STAGEWRIGHT_SCHEDULING_GENERATORS_ALTERNATE_H

#include "stagewright/Scheduling/Generators.h"

namespace stagewright {

/// Number of forwards before the first backward on a rank with `own` replicas;
/// `ahead` counts the replicas of it and all later ranks. With one replica per
/// rank these are 1 and p - r. The result is at least 1, and n times as large
/// for n times the replicas.
using WarmUp = std::function<int64_t(int64_t ahead, int64_t own)>;

/// A rank runs as many forwards as `warmUp` returns, but at most M, then
/// alternates a backward and a forward. It holds that number of activations.
Result<Schedule> alternate(const char *kind, const ScheduleShape &shape,
                           const WarmUp &warmUp);

} // namespace stagewright

#endif // STAGEWRIGHT_SCHEDULING_GENERATORS_ALTERNATE_H
