//===- ZeroBubble.h - zero-bubble, one stage per rank -----------*- C++ -*-===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Private to this folder: the zero-bubble schedules with one stage per rank.
// They differ in how far forwards run ahead and W are delayed.
//
//===----------------------------------------------------------------------===//

#ifndef STAGEWRIGHT_SCHEDULING_GENERATORS_ZEROBUBBLE_H
#define STAGEWRIGHT_SCHEDULING_GENERATORS_ZEROBUBBLE_H

#include "stagewright/Scheduling/Generators.h"

namespace stagewright {

/// Rank r runs `ahead(p - 1 - r)` forwards, then alternates: a forward, an I,
/// and the W of the microbatch `ahead(r)` before that of the I. With p ranks
/// and M microbatches, it holds min(ahead(p - 1 - r) + 1 + ahead(r), M)
/// activations, the same number on all ranks if `ahead` is linear.
Result<Schedule> zeroBubble(const char *kind, const ScheduleShape &shape,
                            const std::function<int64_t(int64_t)> &ahead);

} // namespace stagewright

#endif // STAGEWRIGHT_SCHEDULING_GENERATORS_ZEROBUBBLE_H
