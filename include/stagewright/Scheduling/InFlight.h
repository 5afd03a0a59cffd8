//===- InFlight.h - microbatches held between phases ------------*- C++ -*-===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What a planner needs to know of a schedule: how many microbatches a stage
// keeps something for. It follows from the order alone, not from times.
//
//===----------------------------------------------------------------------===//

#ifndef STAGEWRIGHT_SCHEDULING_INFLIGHT_H
#define STAGEWRIGHT_SCHEDULING_INFLIGHT_H

#include "stagewright/Scheduling/Schedule.h"

namespace stagewright {

/// For each stage, the most microbatches whose forward has started and whose
/// last backward action has not ended; 0 in a schedule without backward.
/// 1F1B: min(stages - stage, M). GPipe: M.
std::vector<int64_t> stashedMicrobatches(const Schedule &schedule);

} // namespace stagewright

#endif // STAGEWRIGHT_SCHEDULING_INFLIGHT_H
