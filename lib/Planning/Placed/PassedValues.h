//===- PassedValues.h - values between stages of a rank ---------*- C++ -*-===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The levels of a shard are stages of one rank (GangProblem.h), and most of
// what a level reads comes from the level before on the same rank. No ring
// holds such a value: it exists once for each microbatch, from the action that
// makes it to the last one that reads it. stageMemory(), which does not know
// the ranks of other stages, counts it as a message.
//
//===----------------------------------------------------------------------===//

#ifndef STAGEWRIGHT_LIB_PLANNING_PLACED_PASSEDVALUES_H
#define STAGEWRIGHT_LIB_PLANNING_PLACED_PASSEDVALUES_H

#include "Placed/RankMemory.h"
#include "ValuePlace.h"
#include <map>
#include <optional>

namespace stagewright {

/// How later stages of the device that makes `value` use it, by stage: each of
/// them has a copy of its own. `stageOf(phase)`: the stage of a LayerPhase on
/// that device, none for phases of other devices. Forwards run in the order of
/// the stages, backwards against it; no stage waits for a weight gradient.
template <typename StageOf>
std::map<size_t, ValuePlace> passedUses(const LayerValue &value,
                                        StageOf stageOf) {
  std::map<size_t, ValuePlace> places;
  ActionKind phase = value.producer.phase;
  std::optional<size_t> from = stageOf(value.producer);
  if (!from || phase == ActionKind::WeightGradient)
    return places;
  for (const LayerPhase &use : value.uses)
    if (std::optional<size_t> to = stageOf(use);
        to && (phase == ActionKind::Forward ? *to > *from : *to < *from))
      places[*to].addUse(use.phase);
  return places;
}

/// The memory of stages, and what passes between those of the same devices.
struct StagesMemory {
  std::vector<StageMemory> stages; ///< Without the bytes of `passed`.
  std::vector<RankMemory::Passed> passed;
};

/// If levels share rings and there are backwards, values between stages of the
/// same devices are in `passed`. Otherwise the result is stageMemory() of each
/// stage, and nothing is passed.
StagesMemory memoryOfStages(const Problem &problem,
                            const std::vector<StagePlan> &stages);

} // namespace stagewright

#endif // STAGEWRIGHT_LIB_PLANNING_PLACED_PASSEDVALUES_H
