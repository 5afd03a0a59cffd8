//===- ScheduleProblem.cpp - checks of a scheduling problem ---------------===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "stagewright/Scheduling/ScheduleProblem.h"
#include "stagewright/Support/Printed.h"
#include <string>

namespace stagewright {

/// Max time and max amount of memory. The sum of as many of them as a schedule
/// can have is finite.
static constexpr double kMostAmount = 1e100;

static bool isAmount(double value) {
  return value >= 0 && value <= kMostAmount; // Neither holds for NaN.
}

/// Unlike std::to_string, short for any number.
static std::string shortly(double value) { return printed("%g", value); }

static Error countError(const char *what, size_t wanted, size_t got) {
  return Error{"there are " + std::to_string(got) + " " + what + ", not " +
               std::to_string(wanted)};
}

Status ScheduleProblem::check() const {
  if (ranks < 1 || chunks < 1 || microbatches < 1)
    return Error{"ranks, chunks and microbatches must be at least 1, but are " +
                 std::to_string(ranks) + ", " + std::to_string(chunks) +
                 " and " + std::to_string(microbatches)};
  if (spare != 0 &&
      (placement != Placement::Loop || spare < 0 || spare >= ranks))
    return Error{
        "ranks without a last chunk require loop placement and must be "
        "fewer than all ranks, got " +
        std::to_string(spare) + " of " + std::to_string(ranks)};
  size_t wanted = size_t(numStages());
  if (stages.size() != wanted)
    return countError("stages", wanted, stages.size());
  if (hops.size() + 1 != wanted)
    return countError("hops", wanted - 1, hops.size());
  for (size_t s = 0; s < stages.size(); ++s) {
    const StageCosts &stage = stages[s];
    std::string where = "stage " + std::to_string(s);
    for (Seconds time :
         {stage.forward, stage.inputGradient, stage.weightGradient})
      if (!isAmount(time.value))
        return Error{where + ": times must be from 0 to 1e100, but one is " +
                     shortly(time.value) + "; take a larger unit"};
    for (double held : {stage.activation, stage.kept, stage.recomputeInput})
      if (!isAmount(held))
        return Error{where +
                     ": amounts of memory must be from 0 to 1e100, but one "
                     "is " +
                     shortly(held) + "; take a larger unit"};
    if (stage.kept > stage.activation ||
        stage.recomputeInput > stage.activation)
      return Error{where + ": what is kept after I (" +
                   std::to_string(stage.kept) + ") or for a recomputation (" +
                   std::to_string(stage.recomputeInput) +
                   ") cannot be more than the activation (" +
                   std::to_string(stage.activation) + ")"};
  }
  for (size_t s = 0; s < hops.size(); ++s)
    if (!isAmount(hops[s].value))
      return Error{"the hop after stage " + std::to_string(s) +
                   " must be from 0 to 1e100, but is " +
                   shortly(hops[s].value) + "; take a larger unit"};
  if (!(memory >= 0))
    return Error{"memory must not be negative, but is " +
                 std::to_string(memory)};
  if (!isAmount(overlap) || overlap > 1)
    return Error{"overlap must be from 0 to 1, but is " +
                 std::to_string(overlap)};
  return {};
}

} // namespace stagewright
