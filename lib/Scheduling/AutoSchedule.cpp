//===- AutoSchedule.cpp - schedules found by search -----------------------===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "stagewright/Scheduling/AutoSchedule.h"
#include "Search/Chain/Exact.h"
#include "Search/Chain/LocalSearch.h"
#include "Search/Chain/Settings.h"
#include "Search/Chunks/VSearch.h"
#include "Search/Neighbours.h"
#include "Search/Recompute.h"
#include "Search/Seeds.h"
#include <algorithm>

namespace stagewright {

using namespace search;

/// The min memory for any order, and the rank that needs it. The first gradient
/// comes after the last forward, so a rank holds all its chunks of one
/// microbatch at once; with recomputation it holds one of them, and only the
/// inputs of the others. Running one microbatch after another needs no more, so
/// this is also sufficient.
static std::pair<double, int64_t> leastMemory(const ScheduleProblem &problem,
                                              bool recompute) {
  std::vector<double> least(problem.ranks, 0), inputs(problem.ranks, 0);
  for (int64_t s = 0; s < problem.numStages(); ++s) {
    int64_t rank = problem.rankOf(s);
    const StageCosts &stage = problem.stages[s];
    least[rank] = std::max(least[rank], inputs[rank] + stage.activation);
    if (!problem.forwardOnly)
      inputs[rank] += recompute ? stage.recomputeInput : stage.activation;
  }
  auto most = std::max_element(least.begin(), least.end());
  return {*most, most - least.begin()};
}

static std::string number(double value) {
  std::string text = std::to_string(value);
  text.erase(text.find_last_not_of('0') + 1);
  return text.ends_with('.') ? text.substr(0, text.size() - 1) : text;
}

static Error tooLittleMemory(const ScheduleProblem &problem, bool recompute) {
  auto [least, rank] = leastMemory(problem, recompute);
  Error error{"no order fits a memory of " + number(problem.memory) +
              ": rank " + std::to_string(rank) + " holds " + number(least) +
              " for one microbatch, " + number(least - problem.memory) +
              " too much; the smallest limit that would do is " +
              number(least)};
  double other = leastMemory(problem, !recompute).first;
  if (!recompute && other < least)
    error.message += ", or " + number(other) + " if forwards may run again";
  if (recompute && other > least)
    error.message += ", or " + number(other) + " if none runs again";
  return error;
}

static Status checkSize(const ScheduleProblem &problem) {
  constexpr int64_t kMost = int64_t(1) << 26;
  int64_t stages = problem.ranks * problem.chunks;
  if (problem.microbatches <= kMost / 4 / stages)
    return {};
  return Error{"a search takes at most " + std::to_string(kMost) +
               " actions, but there are " + std::to_string(stages) +
               " stages and " + std::to_string(problem.microbatches) +
               " microbatches; choose a generator instead"};
}

/// One stage per rank: list scheduling, an exact search, then local search.
/// Returns whether the exact search has finished.
static bool searchChain(const ScheduleProblem &problem, Best &best) {
  FastProblem fast = FastProblem::of(problem, best.options.split);
  double effort = best.options.effort;
  std::vector<FastOrders> starts =
      searchSettings(fast, best, int64_t(effort * 2e7));
  if (best.meetsBound())
    return false;
  if (searchExactly(best, int64_t(effort * 1.2e5)))
    return true;
  searchLocally(fast, starts, best, int64_t(effort * 5e7));
  return false;
}

/// The lower bounds on all schedules that `options` allow.
static LowerBounds boundsFor(const ScheduleProblem &problem,
                             const AutoScheduleOptions &options) {
  if (options.recompute)
    return lowerBoundsWithRecompute(problem);
  return options.split ? lowerBounds(problem)
                       : lowerBoundsWithoutSplit(problem);
}

/// Searches without recomputation. With twin placement, and if ranks have
/// several adjacent stages or some lack a chunk, it only tries the orders of
/// generators. If nothing fits, it tries one microbatch after another, except
/// with twin placement. Returns whether an exact search has finished.
static bool searchPlain(const ScheduleProblem &problem, Best &best) {
  for (const Schedule &seed : seedsFor(problem, best.options.split))
    best.offer(seed, seed.kind);
  if (!best.meetsBound() && problem.chunks == 1 &&
      problem.placement != Placement::Twin)
    return searchChain(problem, best);
  if (!best.meetsBound() && problem.chunks > 1 && problem.spare == 0 &&
      (problem.placement == Placement::V ||
       problem.placement == Placement::Loop))
    searchChunks(FastProblem::of(problem, best.options.split), best,
                 int64_t(best.options.effort * 2e7));
  if (!best.found() && problem.placement != Placement::Twin)
    best.offer(oneByOne(problem, best.options.split), "one-by-one");
  return false;
}

const char *toText(Optimality optimality) {
  switch (optimality) {
  case Optimality::Unknown:
    return "";
  case Optimality::FirstInFirstOut:
    return ", optimal among orders that run microbatches first in, first out";
  case Optimality::Proved:
    return ", optimal";
  }
  return "";
}

static Result<AutoSchedule> searchPlaced(const ScheduleProblem &problem,
                                         const AutoScheduleOptions &options) {
  LowerBounds bounds = boundsFor(problem, options);
  Best best(problem, bounds, options);
  bool isExact = false;
  if (options.recompute) {
    AutoScheduleOptions without = options;
    without.recompute = false;
    LowerBounds boundsWithout = boundsFor(problem, without);
    Best plain(problem, boundsWithout, without);
    searchPlain(problem, plain);
    if (plain.found())
      best.offer(plain.schedule, plain.origin);
    if (!best.meetsBound() && !problem.forwardOnly)
      searchRecompute(problem, best);
  } else {
    isExact = searchPlain(problem, best);
  }
  Optimality optimality = best.meetsBound() ? Optimality::Proved
                          : isExact         ? Optimality::FirstInFirstOut
                                            : Optimality::Unknown;
  if (!best.found())
    return Error{"no generator fits " + std::to_string(problem.chunks) +
                 " chunks on " + std::to_string(problem.ranks) +
                 " ranks with " + std::to_string(problem.microbatches) +
                 " microbatches and a memory of " + number(problem.memory)};
  return AutoSchedule{std::move(best.schedule),
                      std::move(best.timing),
                      bounds,
                      problem.placement,
                      best.origin,
                      optimality};
}

Result<AutoSchedule> findSchedule(const ScheduleProblem &problem,
                                  const AutoScheduleOptions &options) {
  if (Status status = problem.check(); !status)
    return status.error();
  if (Status status = checkSize(problem); !status)
    return status.error();
  auto fits = [&](const ScheduleProblem &p) {
    return leastMemory(p, options.recompute).first <= p.memory * (1 + 1e-9);
  };
  if (!fits(problem))
    return tooLittleMemory(problem, options.recompute);
  if (problem.placement != Placement::Linear || problem.chunks == 1)
    return searchPlaced(problem, options);
  // With recomputation by chunk, several chunks may need less memory than one
  // merged chunk.
  ScheduleProblem merged = mergeNeighbours(problem);
  if (!fits(merged))
    return searchPlaced(problem, options);
  Result<AutoSchedule> found = searchPlaced(merged, options);
  if (!found)
    return found;
  found->schedule = expandNeighbours(found->schedule, problem.chunks);
  Result<Timeline> timing = timeSchedule(found->schedule, problem);
  if (!timing)
    return timing.error();
  found->timing = std::move(*timing);
  return found;
}

Result<std::vector<AutoSchedule>>
findScheduleAnyPlacement(const ScheduleProblem &problem,
                         const AutoScheduleOptions &options) {
  std::vector<AutoSchedule> found;
  std::vector<Placement> placements = {Placement::Linear};
  if (problem.chunks > 1)
    placements.insert(placements.end(), {Placement::Loop, Placement::V});
  Error first;
  for (Placement placement : placements) {
    ScheduleProblem placed = problem;
    placed.placement = placement;
    Result<AutoSchedule> result = findSchedule(placed, options);
    if (result)
      found.push_back(std::move(*result));
    else if (first.message.empty())
      first = result.error();
  }
  if (found.empty())
    return first;
  // Ties are broken by the other metric.
  auto value = [&](const AutoSchedule &a) {
    std::pair<Seconds, Seconds> both = {a.timing.makespan, a.timing.span};
    if (options.objective == ScheduleObjective::Span)
      std::swap(both.first, both.second);
    return both;
  };
  std::stable_sort(found.begin(), found.end(),
                   [&](const AutoSchedule &a, const AutoSchedule &b) {
                     return value(a) < value(b);
                   });
  return found;
}

} // namespace stagewright
