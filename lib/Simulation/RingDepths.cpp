//===- RingDepths.cpp - how many microbatches are in flight ---------------===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "stagewright/Simulation/RingDepths.h"
#include <algorithm>

namespace stagewright {

Result<RingDepths> RingDepths::create(const ScheduleFamily &family,
                                      StageGraph graph) {
  RingDepths result;
  for (StageEdge &edge : graph.edges)
    edge.depth = 0;
  auto run = [&](int64_t microbatches) {
    return timeSchedule(family(microbatches), graph, unitTimes(graph.stages));
  };
  // In a periodic schedule the number of microbatches in flight stops growing
  // within the warm-up, which is at most a few microbatches per rank.
  Schedule one = family(1);
  int64_t most = 4 * static_cast<int64_t>(one.ranks.size()) + 4;
  for (int64_t microbatches = 1; microbatches <= most + 1; ++microbatches) {
    Result<Timeline> timeline = run(microbatches);
    if (!timeline)
      return timeline.error();
    if (microbatches < most)
      result.small.push_back(std::move(*timeline));
    else
      (microbatches == most ? result.large : result.larger) =
          std::move(*timeline);
  }
  for (size_t rank = 0; rank < one.ranks.size(); ++rank)
    for (const Action &action : one.ranks[rank])
      result.rankOf[action.stage] = rank;
  return result;
}

/// The starts or ends, by microbatch, of the actions that run `phase`.
static std::vector<Seconds> timesOf(const std::vector<TimedAction> &rank,
                                    StagePhase phase, bool end) {
  std::vector<Seconds> times;
  for (const TimedAction &timed : rank) {
    if (timed.action.stage != phase.stage ||
        !runsPhase(timed.action.kind, phase.phase))
      continue;
    size_t m = timed.action.microbatch;
    times.resize(std::max(times.size(), m + 1));
    times[m] = end ? timed.end : timed.start;
  }
  return times;
}

int64_t RingDepths::inFlight(const Timeline &timeline, StagePhase first,
                             StagePhase last) const {
  std::vector<Seconds> starts =
      timesOf(timeline.ranks[rankOf.at(first.stage)], first, false);
  std::vector<Seconds> ends =
      timesOf(timeline.ranks[rankOf.at(last.stage)], last, true);
  // Microbatch m uses slot m mod depth. m and m' < m overlap if m starts before
  // m' ends, so the depth must exceed m - m' for every such pair.
  int64_t depth = 1;
  for (int64_t m = 0; m < int64_t(starts.size()); ++m)
    for (int64_t earlier = 0; earlier < m - depth + 1; ++earlier)
      if (starts[m] < ends[earlier])
        depth = m - earlier + 1;
  return depth;
}

RingDepth RingDepths::between(StagePhase first, StagePhase last) {
  auto [entry, isNew] = known.try_emplace({first, last});
  RingDepth &depth = entry->second;
  if (!isNew)
    return depth;
  int64_t now = inFlight(large, first, last);
  int64_t next = inFlight(larger, first, last);
  depth.all = next > now;
  depth.slots = now;
  for (const Timeline &timeline : small)
    depth.slots = std::max(depth.slots, inFlight(timeline, first, last));
  if (rankOf.at(first.stage) != rankOf.at(last.stage))
    depth.slots = std::max<int64_t>(depth.slots, 2);
  if (depth.all)
    depth.slots = 1;
  return depth;
}

} // namespace stagewright
