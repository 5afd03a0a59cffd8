//===- ZeroBubble.h - I and W apart, one stage per rank ---------*- C++ -*-===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Private to this room: the zero-bubble schedules of one stage per rank, which
// differ in how far forwards run ahead and W stay behind.
//
//===----------------------------------------------------------------------===//

#ifndef STAGEWRIGHT_SCHEDULING_GENERATORS_ZEROBUBBLE_H
#define STAGEWRIGHT_SCHEDULING_GENERATORS_ZEROBUBBLE_H

#include "stagewright/Scheduling/Generators.h"

namespace stagewright {

/// Rank r runs `ahead(p - 1 - r)` forwards, then a forward, an I and the W of
/// `ahead(r)` microbatches before that one by turns. Holds ahead(p - 1 - r) + 1
/// + ahead(r) activations, at most M: where `ahead` is linear, the same on all
/// ranks.
Result<Schedule> zeroBubble(const char *kind, const ScheduleShape &shape,
                            const std::function<int64_t(int64_t)> &ahead);

} // namespace stagewright

#endif // STAGEWRIGHT_SCHEDULING_GENERATORS_ZEROBUBBLE_H
