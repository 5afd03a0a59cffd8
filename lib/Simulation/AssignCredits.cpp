//===- AssignCredits.cpp - Little's law within a limit of memory ----------===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "stagewright/Simulation/AssignCredits.h"
#include "MemoryCap.h"
#include "stagewright/Scheduling/ReadyFirst.h"
#include <algorithm>
#include <cmath>

namespace stagewright {

namespace {
/// Credits are increased by at most kMostMore, until the loss is at most
/// kNoLoss.
constexpr double kNoLoss = 0.01;
constexpr int64_t kMostMore = 8;
/// A round trip of n periods and this part of another still needs only n
/// credits.
constexpr double kNegligible = 0.05;
} // namespace

/// The actions of one microbatch.
static Schedule only(const Schedule &schedule, int64_t microbatch) {
  Schedule one = schedule;
  one.microbatches = 1;
  for (Order &order : one.ranks) {
    std::erase_if(order, [&](const Action &action) {
      return action.kind == ActionKind::Update ||
             action.microbatch != microbatch;
    });
    for (Action &action : order)
      action.microbatch = 0;
  }
  return one;
}

/// By stage: the longest time that a microbatch takes, if no other is in
/// flight, from the start of its first action on the stage to the end of its
/// last one.
static Result<std::vector<Seconds>> roundTrips(const Schedule &schedule,
                                               const StageGraph &graph,
                                               const StepTimes &times) {
  std::vector<Seconds> trips(schedule.stages);
  // If microbatches differ because of replicas, twins or stages that recompute
  // for some of them only, the first and the last one stand for both kinds.
  for (int64_t m : {int64_t(0), schedule.microbatches - 1}) {
    Result<ReadyRun> run = simulateReady(only(schedule, m), graph, times);
    if (!run)
      return run.error();
    std::vector<Seconds> starts(schedule.stages, run->timeline.makespan);
    std::vector<Seconds> ends(schedule.stages);
    for (const auto &rank : run->timeline.ranks)
      for (const TimedAction &timed : rank) {
        Seconds &start = starts[timed.action.stage];
        start = std::min(start, timed.start);
        ends[timed.action.stage] =
            std::max(ends[timed.action.stage], timed.end);
      }
    for (size_t s = 0; s < trips.size(); ++s)
      trips[s] = std::max(trips[s], ends[s] - starts[s]);
  }
  return trips;
}

/// The work of the busiest rank for one microbatch, on average.
static Seconds periodOf(const Schedule &schedule, const StepTimes &times) {
  Seconds most;
  for (size_t rank = 0; rank < schedule.ranks.size(); ++rank) {
    Seconds work;
    for (const Action &action : schedule.ranks[rank])
      work += times.of(action, int64_t(rank));
    most = std::max(most, work);
  }
  return most * (1.0 / double(schedule.microbatches));
}

Result<Seconds> makespanWith(const Schedule &schedule, const StageGraph &graph,
                             StepTimes times,
                             const std::vector<int64_t> &credits) {
  StageGraph limited = withCredits(graph, credits);
  if (!times.hops.empty())
    times.hops.resize(limited.edges.size());
  Result<ReadyRun> run = simulateReady(schedule, limited, times);
  if (!run)
    return run.error();
  return run->timeline.makespan;
}

/// Sets the wanted credits: `little`, those by Little's law, plus the smallest
/// number with which the simulated step is about as fast as without a limit or,
/// if none up to kMostMore achieves that, as with any of them.
static Status addForPhase(const Schedule &schedule, const StageGraph &graph,
                          const StepTimes &times,
                          const std::vector<int64_t> &little,
                          Credits &credits) {
  for (int64_t more = 0; more <= kMostMore; ++more) {
    std::vector<int64_t> some = little;
    for (int64_t &credit : some)
      credit = std::clamp<int64_t>(credit + more, 1, schedule.microbatches);
    Result<Seconds> makespan = makespanWith(schedule, graph, times, some);
    if (!makespan)
      return makespan.error();
    if (more > 0 && *makespan * (1 + kNoLoss) >= credits.makespan)
      continue;
    credits.wanted = std::move(some);
    credits.makespan = *makespan;
    if (*makespan <= credits.unlimited * (1 + kNoLoss))
      break;
  }
  return {};
}

Result<Credits> assignCredits(const Schedule &schedule, const StageGraph &given,
                              const StepTimes &times,
                              const CreditMemory &memory, int64_t spare) {
  StageGraph graph = given;
  for (StageEdge &edge : graph.edges)
    edge.depth = 0;
  Result<std::vector<Seconds>> trips = roundTrips(schedule, graph, times);
  if (!trips)
    return trips.error();
  Result<ReadyRun> free = simulateReady(schedule, graph, times);
  if (!free)
    return free.error();
  Credits credits;
  credits.unlimited = free->timeline.makespan;
  Seconds period = periodOf(schedule, times);
  std::vector<int64_t> little;
  for (Seconds trip : *trips)
    little.push_back(
        period.value > 0
            ? int64_t(std::ceil(trip.value / period.value - kNegligible))
            : 1);
  if (Status status = addForPhase(schedule, graph, times, little, credits);
      !status)
    return status.error();
  for (int64_t &credit : credits.wanted)
    credit = std::min(credit + spare, schedule.microbatches);
  credits.assigned = credits.wanted;
  if (Status status = capByMemory(schedule, memory, credits.assigned); !status)
    return status.error();
  if (!credits.isCapped() && spare == 0) // addForPhase() has simulated it.
    return credits;
  Result<Seconds> makespan =
      makespanWith(schedule, graph, times, credits.assigned);
  if (!makespan)
    return makespan.error();
  credits.makespan = *makespan;
  return credits;
}

} // namespace stagewright
