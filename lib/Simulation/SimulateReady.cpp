//===- SimulateReady.cpp - runs actions as they become ready --------------===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "stagewright/Simulation/SimulateReady.h"
#include "stagewright/Scheduling/Dependences.h"
#include "stagewright/Scheduling/ReadyFirst.h"
#include <algorithm>
#include <queue>

namespace stagewright {

namespace {

/// The lanes of one rank, and how far it is in them.
struct RankState {
  std::vector<Lane> lanes;
  std::vector<std::vector<size_t>> first; ///< By lane and block: first action.
  std::vector<size_t> next;               ///< By lane: its next block.
  Seconds free;
};

class ReadySimulator {
public:
  ReadySimulator(const Dependences &actions, const StageGraph &graph,
                 const StepTimes &times, std::vector<RankState> states)
      : graph(graph), times(times), ranks(std::move(states)),
        missing(actions.size()), arrival(actions.size()),
        waiting(actions.size()) {
    for (size_t number = 0; number < actions.size(); ++number)
      for (const Dependence &wait : actions.of(number)) {
        waiting[wait.on].push_back({number, &wait});
        ++missing[number];
      }
    run.timeline.ranks.resize(ranks.size());
    run.timeline.work.resize(ranks.size());
    run.orders.ranks.resize(ranks.size());
  }

  ReadyRun simulate();

private:
  struct End {
    Seconds at;
    size_t action;
    bool operator>(const End &other) const { return at > other.at; }
  };
  static constexpr size_t kArrival = size_t(-1);

  bool isReady(const RankState &rank, size_t lane, Seconds now) const;
  void start(size_t rank, Seconds now);
  void finish(size_t action, Seconds now);

  const StageGraph &graph;
  const StepTimes &times;
  std::vector<RankState> ranks;
  std::vector<size_t> missing;  ///< By action: dependences that have not ended.
  std::vector<Seconds> arrival; ///< By action: of the last of those that have.
  std::vector<std::vector<std::pair<size_t, const Dependence *>>> waiting;
  /// Ends of actions, and arrivals of messages.
  std::priority_queue<End, std::vector<End>, std::greater<>> ends;
  ReadyRun run;
};

} // namespace

/// Whether the next block of `lane` can run; an R precedes its backward in the
/// block, which waits for it.
bool ReadySimulator::isReady(const RankState &rank, size_t lane,
                             Seconds now) const {
  size_t block = rank.next[lane];
  if (block == rank.first[lane].size())
    return false;
  size_t first = rank.first[lane][block];
  size_t last = first + rank.lanes[lane].blocks[block].size() - 1;
  return missing[first] == 0 && arrival[first] <= now &&
         (last == first || (missing[last] == 1 && arrival[last] <= now));
}

void ReadySimulator::start(size_t number, Seconds now) {
  RankState &rank = ranks[number];
  if (rank.free > now)
    return;
  size_t best = rank.lanes.size();
  auto key = [&](size_t lane) {
    return std::pair(rank.lanes[lane].priority,
                     rank.lanes[lane].places[rank.next[lane]]);
  };
  for (size_t lane = 0; lane < rank.lanes.size(); ++lane)
    if (isReady(rank, lane, now) &&
        (best == rank.lanes.size() || key(lane) < key(best)))
      best = lane;
  if (best == rank.lanes.size())
    return;
  size_t action = rank.first[best][rank.next[best]];
  rank.free = now;
  for (const Action &what : rank.lanes[best].blocks[rank.next[best]++]) {
    Seconds begin = rank.free;
    Seconds length = times.of(what, int64_t(number));
    rank.free += length;
    run.timeline.work[number] += length;
    run.timeline.ranks[number].push_back({what, begin, rank.free});
    run.orders.ranks[number].push_back(what);
    ends.push({rank.free, action++});
  }
}

void ReadySimulator::finish(size_t action, Seconds now) {
  for (auto [number, wait] : waiting[action]) {
    Seconds hop;
    if (wait->edge && !wait->slot && !times.hops.empty())
      hop = times.hops[wait->edge - graph.edges.data()];
    arrival[number] = std::max(arrival[number], now + hop);
    --missing[number];
    if (hop > Seconds())
      ends.push({now + hop, kArrival});
  }
}

ReadyRun ReadySimulator::simulate() {
  Seconds now;
  while (true) {
    for (size_t rank = 0; rank < ranks.size(); ++rank)
      start(rank, now);
    if (ends.empty()) {
      run.timeline.measure();
      return std::move(run);
    }
    for (now = ends.top().at; !ends.empty() && ends.top().at == now; ends.pop())
      if (ends.top().action != kArrival)
        finish(ends.top().action, now);
  }
}

Result<ReadyRun> simulateReady(const Schedule &schedule,
                               const StageGraph &graph,
                               const StepTimes &times) {
  Schedule byLane = schedule;
  std::vector<RankState> ranks;
  size_t number = 0;
  for (Order &order : byLane.ranks) {
    RankState &rank = ranks.emplace_back();
    rank.lanes = lanesOf(order, schedule.stages);
    rank.next.assign(rank.lanes.size(), 0);
    order.clear();
    for (const Lane &lane : rank.lanes) {
      std::vector<size_t> &first = rank.first.emplace_back();
      for (const Order &block : lane.blocks) {
        first.push_back(number);
        number += block.size();
        order.insert(order.end(), block.begin(), block.end());
      }
    }
  }
  Result<Dependences> actions = Dependences::create(byLane, graph);
  if (!actions)
    return actions.error();
  ReadyRun run =
      ReadySimulator(*actions, graph, times, std::move(ranks)).simulate();
  run.orders.kind = schedule.kind;
  run.orders.stages = schedule.stages;
  run.orders.microbatches = schedule.microbatches;
  for (size_t rank = 0; rank < byLane.ranks.size(); ++rank)
    if (run.orders.ranks[rank].size() != byLane.ranks[rank].size())
      return Error{"rank " + std::to_string(rank) + " runs " +
                   std::to_string(run.orders.ranks[rank].size()) + " of its " +
                   std::to_string(byLane.ranks[rank].size()) +
                   " actions, then all ranks wait for each other"};
  return run;
}

} // namespace stagewright
