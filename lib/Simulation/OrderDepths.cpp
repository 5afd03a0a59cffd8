//===- OrderDepths.cpp - depths of rings for one order --------------------===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "stagewright/Simulation/OrderDepths.h"
#include <algorithm>
#include <set>

namespace stagewright {

/// Times that give every rank equal work: the time of a microbatch on a stage
/// is proportional to the number of ranks that run the stage.
static StepTimes equalWork(const Schedule &schedule) {
  std::vector<std::set<size_t>> ranks(schedule.stages);
  for (size_t rank = 0; rank < schedule.ranks.size(); ++rank)
    for (const Action &action : schedule.ranks[rank])
      ranks[action.stage].insert(rank);
  StepTimes times = unitTimes(schedule.stages);
  for (size_t stage = 0; stage < ranks.size(); ++stage) {
    Seconds unit(double(ranks[stage].size()));
    times.stages[stage] = {unit, unit, unit};
  }
  return times;
}

Result<OrderDepths> OrderDepths::create(const Schedule &schedule,
                                        StageGraph graph) {
  for (StageEdge &edge : graph.edges)
    edge.depth = 0;
  Result<Timeline> timeline =
      timeSchedule(schedule, graph, equalWork(schedule));
  if (!timeline)
    return timeline.error();
  OrderDepths result;
  for (size_t rank = 0; rank < timeline->ranks.size(); ++rank)
    for (size_t at = 0; at < timeline->ranks[rank].size(); ++at) {
      const TimedAction &timed = timeline->ranks[rank][at];
      for (ActionKind phase :
           {ActionKind::Forward, ActionKind::Recompute,
            ActionKind::InputGradient, ActionKind::WeightGradient}) {
        if (!runsPhase(timed.action.kind, phase))
          continue;
        auto &row = result.places[{phase, timed.action.stage}];
        row.resize(schedule.microbatches);
        row[timed.action.microbatch] = {static_cast<int64_t>(rank),
                                        Seconds(static_cast<double>(at)),
                                        timed.start, timed.end};
      }
    }
  return result;
}

namespace {
/// The interval in which one microbatch occupies a slot. It includes `end` if
/// that is the position of an action on one rank, but not if it is a time.
struct Life {
  int64_t turn;
  Seconds start, end;
};
} // namespace

/// Whether no two intervals in the same slot, turn mod `depth`, overlap.
/// `lives` are in order of their starts.
static bool fits(const std::vector<Life> &lives, int64_t depth, bool sameRank) {
  std::vector<const Life *> holder(depth);
  for (const Life &life : lives) {
    const Life *&before = holder[life.turn % depth];
    if (before &&
        (sameRank ? life.start <= before->end : life.start < before->end))
      return false;
    before = &life;
  }
  return true;
}

int64_t OrderDepths::between(StagePhase first, StagePhase last,
                             const std::vector<int64_t> &microbatches,
                             int64_t stride) const {
  const std::vector<Place> &from = places.at(first), &to = places.at(last);
  int64_t some = microbatches.front();
  bool sameRank = from[some].rank == to[some].rank;
  std::vector<Life> lives;
  lives.reserve(microbatches.size());
  for (int64_t m : microbatches)
    lives.push_back({m / stride, sameRank ? from[m].position : from[m].start,
                     sameRank ? to[m].position : to[m].end});
  std::sort(lives.begin(), lives.end(),
            [](const Life &a, const Life &b) { return a.start < b.start; });
  auto [low, high] =
      std::minmax_element(microbatches.begin(), microbatches.end());
  int64_t most = *high / stride - *low / stride + 1;
  int64_t depth = std::min<int64_t>(sameRank ? 1 : 2, most);
  while (depth < most && !fits(lives, depth, sameRank))
    ++depth;
  return depth;
}

} // namespace stagewright
