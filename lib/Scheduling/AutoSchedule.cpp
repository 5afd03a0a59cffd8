//===- AutoSchedule.cpp - a schedule by search ----------------------------===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "stagewright/Scheduling/AutoSchedule.h"
#include "Search/Exact.h"
#include "Search/LocalSearch.h"
#include "Search/Neighbours.h"
#include "Search/Seeds.h"
#include "Search/Settings.h"
#include "Search/VSearch.h"
#include <algorithm>

namespace stagewright {

using namespace search;

/// The least that a rank holds: all its chunks of one microbatch, since the
/// first gradient comes after the last forward. Enough for one microbatch at a
/// time, so no more than this is ever needed.
static std::pair<double, int64_t> leastMemory(const ScheduleProblem &problem) {
  std::vector<double> held(problem.ranks, 0);
  for (int64_t s = 0; s < problem.numStages(); ++s) {
    double &rank = held[problem.rankOf(s)];
    double activation = problem.stages[s].activation;
    rank = problem.forwardOnly ? std::max(rank, activation) : rank + activation;
  }
  auto most = std::max_element(held.begin(), held.end());
  return {*most, most - held.begin()};
}

static std::string number(double value) {
  std::string text = std::to_string(value);
  text.erase(text.find_last_not_of('0') + 1);
  return text.ends_with('.') ? text.substr(0, text.size() - 1) : text;
}

static Error tooLittleMemory(const ScheduleProblem &problem) {
  auto [least, rank] = leastMemory(problem);
  return Error{"no order fits a memory of " + number(problem.memory) +
               ": rank " + std::to_string(rank) + " holds " + number(least) +
               " for one microbatch, " + number(least - problem.memory) +
               " too much; the smallest limit that would do is " +
               number(least)};
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

/// One stage per rank: construction, an exact search for what meets the bound,
/// then moves. Whether the best is an optimum.
static bool searchChain(const ScheduleProblem &problem, Best &best) {
  FastProblem fast = FastProblem::of(problem, best.options.split);
  double effort = best.options.effort;
  std::vector<FastOrders> starts =
      searchSettings(fast, best, int64_t(effort * 2e7));
  if (best.meetsBound() || searchExactly(best, int64_t(effort * 1.2e5)))
    return true;
  searchLocally(fast, starts, best, int64_t(effort * 5e7));
  return best.meetsBound();
}

/// One stage per rank, or a placement whose stages of a rank lie apart.
static Result<AutoSchedule> search1(const ScheduleProblem &problem,
                                    const AutoScheduleOptions &options) {
  LowerBounds bounds =
      options.split ? lowerBounds(problem) : lowerBoundsWithoutSplit(problem);
  Best best(problem, bounds, options);
  for (const Schedule &seed : seedsFor(problem, options.split))
    best.offer(seed, seed.kind);
  bool optimal = best.meetsBound();
  if (!optimal && problem.chunks == 1 && problem.placement != Placement::Twin)
    optimal = searchChain(problem, best);
  if (!optimal && problem.chunks > 1 &&
      (problem.placement == Placement::V ||
       problem.placement == Placement::Loop)) {
    searchChunks(FastProblem::of(problem, options.split), best,
                 int64_t(options.effort * 3e7));
    optimal = best.meetsBound();
  }
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
                      optimal};
}

Result<AutoSchedule> findSchedule(const ScheduleProblem &problem,
                                  const AutoScheduleOptions &options) {
  if (Status status = problem.check(); !status)
    return status.error();
  if (Status status = checkSize(problem); !status)
    return status.error();
  if (leastMemory(problem).first > problem.memory * (1 + 1e-9))
    return tooLittleMemory(problem);
  if (problem.placement != Placement::Linear || problem.chunks == 1)
    return search1(problem, options);
  Result<AutoSchedule> merged = search1(mergeNeighbours(problem), options);
  if (!merged)
    return merged.error();
  merged->schedule = expandNeighbours(merged->schedule, problem.chunks);
  Result<ScheduleTiming> timing = timeSchedule(merged->schedule, problem);
  if (!timing)
    return timing.error();
  merged->timing = std::move(*timing);
  return merged;
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
  auto value = [&](const AutoSchedule &a) {
    return options.objective == ScheduleObjective::Makespan ? a.timing.makespan
                                                            : a.timing.span;
  };
  std::stable_sort(found.begin(), found.end(),
                   [&](const AutoSchedule &a, const AutoSchedule &b) {
                     return value(a) < value(b);
                   });
  return found;
}

} // namespace stagewright
