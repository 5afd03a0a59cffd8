//===- Greedy.cpp - list scheduling of one stage per rank -----------------===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Search/Chain/Greedy.h"
#include "Search/WakeTimes.h"
#include <algorithm>
#include <cmath>

namespace stagewright::search {

namespace {

/// The state of a rank in the list scheduler.
struct GreedyRank {
  int32_t done[3] = {0, 0, 0}; ///< F, I and W started so far.
  Ticks free = 0;
  Grains held = 0;         ///< After the end of the running action.
  int32_t aim = 1;         ///< Target number of forwards in flight.
  int32_t backlog = 0;     ///< Max number of delayed W.
  Ticks idle = 0;          ///< So far, after the first start.
  Ticks firstGradient = 0; ///< Its earliest arrival in any order.
};

class GreedyScheduler {
public:
  GreedyScheduler(const FastProblem &problem, const GreedySettings &settings,
                  const std::vector<Ticks> &allowed);
  FastOrders run();

private:
  void setAims();
  /// Arrival time of the input of the next F or I of `rank`: 0 if it has none,
  /// kNever if it is not known yet or no such action is left or possible.
  Ticks arrival(int32_t rank, Phase phase) const;
  /// Starts an action on `rank`, or sets when to decide again.
  void decide(int32_t rank, Ticks now);
  bool holdsBack(const GreedyRank &at, Ticks forward, Ticks now) const;
  /// The min idle time before the next F or I for which a W is run, as a part
  /// of W's duration.
  double patienceOf(const GreedyRank &at) const;
  void start(int32_t rank, Phase phase, Ticks now);

  const FastProblem &problem;
  const GreedySettings &settings;
  const std::vector<Ticks> &allowed;
  std::vector<GreedyRank> ranks;
  std::vector<Ticks> ends; ///< By code.
  WakeTimes wake;
  FastOrders orders;
};

} // namespace

GreedyScheduler::GreedyScheduler(const FastProblem &problem,
                                 const GreedySettings &settings,
                                 const std::vector<Ticks> &allowed)
    : problem(problem), settings(settings), allowed(allowed),
      ranks(problem.ranks), ends(problem.lanes.size() << problem.shift, kNever),
      wake(problem.ranks), orders(problem.ranks) {
  setAims();
  for (int32_t rank = 0; rank < problem.ranks; ++rank)
    orders[rank].reserve(problem.actionsPerRank(rank));
}

/// Computes aims from the time until a gradient comes back, and backlogs from
/// the memory limit.
void GreedyScheduler::setAims() {
  Ticks period = 1, back = 0, down = 0;
  for (int32_t r = 0; r < problem.ranks; ++r) {
    const Lane *lane = &problem.lanes[3 * r];
    period = std::max(period,
                      lane[F].duration + lane[I].duration + lane[W].duration);
    down += lane[F].hop;
    ranks[r].firstGradient = down;
    down += lane[F].duration;
  }
  for (int32_t r = problem.ranks; r-- > 0;) {
    const Lane &f = problem.lane(r, F), &i = problem.lane(r, I);
    back += f.duration + i.duration;
    if (r + 1 < problem.ranks)
      back += i.hop + problem.lane(r + 1, F).hop;
    ranks[r].firstGradient += back - i.duration;
    double steady = std::ceil(double(back) / double(period));
    double full = std::ceil(double(back - i.duration) /
                            double(std::max<Ticks>(f.duration, 1)));
    double aim = steady + settings.warmup * std::max(0.0, full - steady);
    ranks[r].aim =
        int32_t(std::clamp(std::round(aim), 1.0, double(problem.microbatches)));
    Grains kept = std::max<Grains>(problem.lane(r, W).freed, 1);
    double room =
        std::min(double(problem.memory / kept), double(problem.microbatches));
    ranks[r].backlog = int32_t(std::round(settings.backlog * room));
  }
}

Ticks GreedyScheduler::arrival(int32_t rank, Phase phase) const {
  const GreedyRank &at = ranks[rank];
  int32_t most = phase == F ? problem.microbatches : at.done[F];
  if (at.done[phase] >= most || phase >= problem.phases)
    return kNever;
  const Lane &lane = problem.lane(rank, phase);
  if (lane.input < 0)
    return 0;
  Ticks end = ends[(lane.input << problem.shift) | at.done[phase]];
  return end == kNever ? kNever : end + lane.hop;
}

void GreedyScheduler::start(int32_t rank, Phase phase, Ticks now) {
  GreedyRank &at = ranks[rank];
  if (at.done[F] > 0)
    at.idle += now - at.free;
  Code code = problem.code(rank, phase, at.done[phase]++);
  const Lane &lane = problem.lane(rank, phase);
  orders[rank].push_back(code);
  at.held += lane.taken - lane.freed;
  ends[code] = at.free = now + lane.duration;
  wake.set(rank, at.free);
  if (lane.consumer < 0)
    return;
  // An idle consumer may have been waiting for this result.
  int32_t to = lane.consumer;
  Ticks arrives = at.free + problem.lane(to, phase).hop;
  if (ranks[to].free <= now && arrives < wake.of(to))
    wake.set(to, arrives);
}

/// Whether a ready forward has to wait for the first gradient.
bool GreedyScheduler::holdsBack(const GreedyRank &at, Ticks forward,
                                Ticks now) const {
  Ticks gap = at.firstGradient - now;
  return at.done[I] == 0 && problem.phases > 1 && gap > 0 && gap < forward &&
         double(gap) <= settings.hold * double(forward);
}

double GreedyScheduler::patienceOf(const GreedyRank &at) const {
  if (at.done[F] + at.aim >= problem.microbatches)
    return settings.late;
  return at.done[I] <= at.aim ? settings.early : settings.patience;
}

void GreedyScheduler::decide(int32_t rank, Ticks now) {
  const GreedyRank &at = ranks[rank];
  const Lane *lane = &problem.lanes[3 * rank];
  Ticks forward = arrival(rank, F), backward = arrival(rank, I);
  int32_t left = problem.phases == 3 ? at.done[I] - at.done[W] : 0;
  if (left > at.backlog)
    return start(rank, W, now);
  bool wanted = at.done[F] - at.done[I] < at.aim || problem.phases == 1;
  bool room = at.held + lane[F].taken <= problem.memory;
  bool blocked = forward <= now && wanted && !room;
  if (!wanted || !room)
    forward = kNever;
  if (forward <= now && holdsBack(at, lane[F].duration, now)) {
    forward = kNever;
    backward = std::min(backward, at.firstGradient);
  }
  if (forward <= now && (settings.forwardFirst > 0 || backward > now))
    return start(rank, F, now);
  if (blocked && left > 0 && settings.makeRoom > 0 &&
      at.held - lane[W].freed + lane[F].taken <= problem.memory)
    return start(rank, W, now);
  if (backward <= now)
    return start(rank, I, now);
  Ticks next = std::min(forward, backward);
  double part = patienceOf(at);
  if (next != kNever &&
      double(at.idle + next - at.free) <= settings.idle * double(allowed[rank]))
    part = 1;
  double wait = double(lane[W].duration) * part;
  // If a forward only lacks memory, W runs at once to free some.
  if (left > 0 && (blocked || next == kNever || double(next - now) >= wait))
    return start(rank, W, now);
  wake.set(rank, next);
}

FastOrders GreedyScheduler::run() {
  for (int32_t rank = 0; rank < problem.ranks; ++rank)
    wake.set(rank, 0);
  while (true) {
    auto [now, rank] = wake.first();
    if (now == kNever)
      return std::move(orders);
    decide(rank, now);
  }
}

FastOrders constructGreedy(const FastProblem &problem,
                           const GreedySettings &settings,
                           const std::vector<Ticks> &idle) {
  return GreedyScheduler(problem, settings, idle).run();
}

std::vector<Ticks> allowedIdle(const FastProblem &problem, Ticks target,
                               bool span) {
  std::vector<Ticks> idle;
  Ticks down = 0;
  for (int32_t r = 0; r < problem.ranks; ++r) {
    const Lane *lane = &problem.lanes[3 * r];
    Ticks work = lane[F].duration + lane[I].duration + lane[W].duration;
    if (!span)
      down += lane[F].hop;
    idle.push_back(
        std::max<Ticks>(target - down - work * problem.microbatches, 0));
    if (!span)
      down += lane[F].duration;
  }
  return idle;
}

} // namespace stagewright::search
