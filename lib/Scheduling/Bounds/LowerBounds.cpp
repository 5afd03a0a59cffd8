//===- LowerBounds.cpp - lower bounds for all schedules -------------------===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "stagewright/Scheduling/LowerBounds.h"
#include "Counting.h"
#include <algorithm>
#include <tuple>

namespace stagewright {

using namespace bounds;

/// The best bound for `window` from any rank.
static LowerBound boundOf(const Chain &chain, const Window &window) {
  LowerBound bound;
  bound.reason = "work";
  for (int64_t rank = 0; rank < chain.problem.ranks; ++rank) {
    raiseByHeadsAndTails(chain, window, rank, bound);
    raiseByWorkAlone(chain, window, rank, bound);
    if (chain.problem.forwardOnly)
      continue;
    raiseByFillAndDrain(chain, window, rank, bound);
    raiseByMemory(chain, window, rank, bound);
  }
  return bound;
}

/// Twin placement: a stage is on ranks s and p - 1 - s, which share its
/// microbatches in any way, so only the work of both together is known.
static LowerBound boundOfTwins(const Chain &chain, bool makespan) {
  LowerBound bound;
  bound.reason = "work";
  for (int64_t rank = 0; 2 * rank < chain.problem.ranks; ++rank) {
    bool alone = 2 * rank + 1 == chain.problem.ranks;
    double value = chain.work(rank) * double(chain.problem.microbatches) /
                       (alone ? 1 : 2) +
                   chain.alonePremium(rank) +
                   (makespan ? chain.forward(0, rank) : 0);
    if (value > bound.value.value)
      bound = {Seconds(value), "work", rank};
  }
  if (chain.problem.forwardOnly)
    return bound;
  // The forward and backward of one microbatch, and the last W.
  double path = chain.around(0, 0) + chain.inputTime(0) + chain.weightTime(0);
  if (path > bound.value.value && makespan)
    bound = {Seconds(path), "heads and tails", 0};
  return bound;
}

/// Steps of walks per objective, about 10 ns each: enough for many exact digits
/// with 8 ranks and 32 microbatches. Much larger problems are not counted at
/// all.
static constexpr double kCountingEffort = 2e7;

/// Whether every rank has one stage, with forward and backward.
static bool canCount(const ScheduleProblem &problem) {
  return problem.placement != Placement::Twin && problem.chunks == 1 &&
         !problem.forwardOnly;
}

static void raiseByCounting(const Chain &chain, const Window &window,
                            LowerBound &bound, double &effort) {
  double value = refuteByCounting(chain, window, bound.value.value, effort);
  if (value > bound.value.value)
    bound = {Seconds(value), "ranks together", window.rank};
}

LowerBounds lowerBounds(const ScheduleProblem &problem) {
  Chain chain(problem);
  LowerBounds bounds;
  if (problem.placement == Placement::Twin) {
    bounds.makespan = boundOfTwins(chain, true);
    bounds.span = boundOfTwins(chain, false);
    return bounds;
  }
  bounds.makespan = boundOf(chain, {0, 0, true});
  for (int64_t rank = 0; rank < problem.ranks; ++rank) {
    LowerBound bound = boundOf(chain, {chain.lowest(rank), rank, false});
    if (rank == 0 || bound.value > bounds.span.value)
      bounds.span = bound;
    bound.value += Seconds(chain.forward(0, chain.lowest(rank)));
    if (bound.value > bounds.makespan.value)
      bounds.makespan = bound;
  }
  if (!canCount(problem))
    return bounds;
  double effort = kCountingEffort;
  raiseByCounting(chain, {0, 0, true}, bounds.makespan, effort);
  effort = kCountingEffort;
  for (int64_t rank = 0; rank < problem.ranks; ++rank)
    raiseByCounting(chain, {rank, rank, false}, bounds.span, effort);
  if (bounds.span.value > bounds.makespan.value)
    bounds.makespan = bounds.span;
  return bounds;
}

LowerBounds lowerBoundsWithoutSplit(const ScheduleProblem &given) {
  ScheduleProblem problem = given;
  // B passes on its result and frees all memory at its end, like an I that
  // includes the W.
  for (StageCosts &stage : problem.stages) {
    stage.inputGradient += stage.weightGradient;
    stage.weightGradient = Seconds();
    stage.kept = 0;
  }
  return lowerBounds(problem);
}

LowerBounds lowerBoundsWithRecompute(const ScheduleProblem &given) {
  ScheduleProblem problem = given;
  // Without recomputations and their memory the bounds can only be lower.
  for (StageCosts &stage : problem.stages) {
    stage.activation = stage.recomputeInput;
    stage.kept = std::min(stage.kept, stage.activation);
  }
  return lowerBounds(problem);
}

Result<LowerBounds> lowerBoundsOf(const Schedule &schedule,
                                  const Timeline &timing,
                                  ScheduleProblem problem) {
  for (double peak : timing.peaks)
    problem.memory = std::max(problem.memory, peak);
  LowerBounds bounds = runs(schedule, ActionKind::Recompute)
                           ? lowerBoundsWithRecompute(problem)
                           : lowerBounds(problem);
  for (auto [what, value, bound] :
       {std::tuple("makespan", timing.makespan, bounds.makespan),
        std::tuple("span", timing.span, bounds.span)})
    if (bound.value.value > value.value * (1 + 1e-9))
      return Error{"internal error: the " + std::string(what) + " of " +
                   toString(value) + " lies below its bound of " +
                   toString(bound.value) + " (" + bound.reason + ", rank " +
                   std::to_string(bound.rank) + "); please report it"};
  return bounds;
}

} // namespace stagewright
