//===- Greedy.cpp - orders by looking at what has arrived -----------------===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Search/Greedy.h"
#include <algorithm>
#include <cmath>
#include <queue>

namespace stagewright::search {

namespace {

constexpr Ticks kNever = std::numeric_limits<Ticks>::max();

/// A rank of the list scheduler.
struct GreedyRank {
  int32_t done[3] = {0, 0, 0}; ///< F, I and W started so far.
  Ticks free = 0;
  Grains held = 0;     ///< When the running action has ended.
  int32_t aim = 1;     ///< Forwards in flight.
  int32_t pending = 0; ///< W that may be left over.
};

class GreedyScheduler {
public:
  GreedyScheduler(const FastProblem &problem, const GreedySettings &settings);
  FastOrders run();

private:
  void setAims();
  /// When the next F or I of `rank` has arrived; kNever while unknown.
  Ticks arrival(int32_t rank, Phase phase) const;
  void decide(int32_t rank, Ticks now);
  void start(int32_t rank, Phase phase, Ticks now);
  bool fits(int32_t rank) const {
    return ranks[rank].held + problem.lane(rank, F).taken <= problem.memory;
  }
  bool left(int32_t rank, Phase phase) const {
    return ranks[rank].done[phase] < problem.microbatches;
  }

  using Event = std::pair<Ticks, int32_t>; ///< A rank may find work.
  const FastProblem &problem;
  const GreedySettings &settings;
  std::vector<GreedyRank> ranks;
  std::vector<Ticks> ends; ///< By code.
  std::priority_queue<Event, std::vector<Event>, std::greater<Event>> events;
  FastOrders orders;
};

} // namespace

GreedyScheduler::GreedyScheduler(const FastProblem &problem,
                                 const GreedySettings &settings)
    : problem(problem), settings(settings), ranks(problem.ranks),
      ends(problem.lanes.size() << problem.shift, kNever),
      orders(problem.ranks) {
  setAims();
  for (int32_t rank = 0; rank < problem.ranks; ++rank)
    orders[rank].reserve(problem.actionsPerRank(rank));
}

/// Aims and backlogs from the time that a gradient takes to come back.
void GreedyScheduler::setAims() {
  Ticks period = 1, back = 0;
  for (int32_t r = 0; r < problem.ranks; ++r)
    period = std::max(period, problem.lane(r, F).duration +
                                  problem.lane(r, I).duration +
                                  problem.lane(r, W).duration);
  for (int32_t r = problem.ranks; r-- > 0;) {
    const Lane &f = problem.lane(r, F), &i = problem.lane(r, I);
    back += f.duration + i.duration;
    if (r + 1 < problem.ranks)
      back += i.hop + problem.lane(r + 1, F).hop;
    double steady = std::ceil(double(back) / double(period));
    double full = std::ceil(double(back - i.duration) /
                            double(std::max<Ticks>(f.duration, 1)));
    double aim = steady + settings.warmup * std::max(0.0, full - steady);
    ranks[r].aim =
        int32_t(std::clamp(std::round(aim), 1.0, double(problem.microbatches)));
    Grains kept = std::max<Grains>(problem.lane(r, W).freed, 1);
    double room =
        std::min(double(problem.memory / kept), double(problem.microbatches));
    ranks[r].pending = int32_t(std::round(settings.backlog * room));
  }
}

Ticks GreedyScheduler::arrival(int32_t rank, Phase phase) const {
  const GreedyRank &at = ranks[rank];
  if (!left(rank, phase) || (phase == I && at.done[I] >= at.done[F]))
    return kNever;
  const Lane &lane = problem.lane(rank, phase);
  if (lane.input < 0)
    return 0;
  Ticks end = ends[(lane.input << problem.shift) | at.done[phase]];
  return end == kNever ? kNever : end + lane.hop;
}

void GreedyScheduler::start(int32_t rank, Phase phase, Ticks now) {
  GreedyRank &at = ranks[rank];
  Code code = problem.code(rank, phase, at.done[phase]++);
  const Lane &lane = problem.lane(rank, phase);
  orders[rank].push_back(code);
  at.held += lane.taken - lane.freed;
  ends[code] = at.free = now + lane.duration;
  events.push({at.free, rank});
  if (lane.consumer >= 0) {
    Phase same = phase;
    int32_t stage = lane.consumer;
    events.push({at.free + problem.lane(stage, same).hop, stage});
  }
}

void GreedyScheduler::decide(int32_t rank, Ticks now) {
  const GreedyRank &at = ranks[rank];
  Ticks forward = arrival(rank, F), backward = arrival(rank, I);
  bool pending = problem.phases == 3 && at.done[W] < at.done[I];
  bool room = fits(rank);
  int32_t flying = at.done[F] - at.done[I];
  if (pending && at.done[I] - at.done[W] > at.pending)
    return start(rank, W, now);
  bool canForward =
      forward <= now && room && (flying < at.aim || problem.phases == 1);
  bool canBackward = backward <= now;
  if (canForward && (settings.forwardFirst || !canBackward))
    return start(rank, F, now);
  if (canBackward)
    return start(rank, I, now);
  if (!pending)
    return;
  // A forward that only lacks memory counts as arrived if W makes room.
  bool blocked = forward <= now && !room && flying < at.aim;
  Ticks next = backward;
  if (room && flying < at.aim)
    next = std::min(next, forward);
  double wait = double(problem.lane(rank, W).duration) * settings.patience;
  if (blocked || next == kNever || double(next - now) >= wait)
    start(rank, W, now);
}

FastOrders GreedyScheduler::run() {
  for (int32_t rank = 0; rank < problem.ranks; ++rank)
    events.push({0, rank});
  while (!events.empty()) {
    auto [now, rank] = events.top();
    events.pop();
    if (ranks[rank].free <= now)
      decide(rank, now);
  }
  return std::move(orders);
}

FastOrders constructGreedy(const FastProblem &problem,
                           const GreedySettings &settings) {
  return GreedyScheduler(problem, settings).run();
}

std::vector<GreedySettings> greedySettings(double effort) {
  std::vector<GreedySettings> settings;
  bool few = effort <= 0;
  for (double warmup : {1.0, 0.0, 0.5, 0.25, 0.75, 1.5})
    for (double patience : {0.5, 0.0, 1.0, 0.25, 0.75})
      for (bool forwardFirst : {false, true})
        for (double backlog : {1.0, 0.5, 0.25})
          if (!few || (backlog == 1 && !forwardFirst))
            settings.push_back({warmup, patience, forwardFirst, backlog});
  return settings;
}

} // namespace stagewright::search
