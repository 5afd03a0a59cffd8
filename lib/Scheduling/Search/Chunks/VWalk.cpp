//===- VWalk.cpp - orders from a plan, by list scheduling -----------------===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Search/Chunks/VWalk.h"
#include <algorithm>
#include <tuple>

namespace stagewright::search {

Walk::Walk(const WalkProblem &problem)
    : problem(problem), bias(problem.lanes.size()),
      place(problem.lanes.size() << problem.shift), missing(place.size()),
      arrival(place.size()), started(place.size()), next(problem.lanes.size()),
      freeAt(problem.ranks), head(problem.ranks), held(problem.ranks),
      stock(problem.ranks), inputsDone(problem.ranks),
      forwardsLeft(problem.ranks), wake(problem.ranks) {}

void Walk::start(int32_t rank, int32_t lane, Ticks now) {
  const WalkLane &l = problem.lanes[lane];
  Code code = (lane << problem.shift) | next[lane]++;
  orders[rank].push_back(code);
  started[code] = 1;
  const std::vector<Code> &order = plan->orders[rank];
  while (head[rank] < int32_t(order.size()) && started[order[head[rank]]])
    ++head[rank];
  held[rank] += l.taken - l.freed;
  Ticks end = now + l.duration;
  freeAt[rank] = end;
  wake.set(rank, end);
  int32_t microbatch = code & ((1 << problem.shift) - 1);
  for (auto [to, delay] : l.outputs) {
    if (to < 0)
      continue;
    Code output = (to << problem.shift) | microbatch;
    arrival[output] = std::max(arrival[output], end + delay);
    int32_t other = problem.lanes[to].rank;
    if (--missing[output] == 0 && other != rank &&
        arrival[output] < wake.of(other))
      wake.set(other, std::max(arrival[output], freeAt[other]));
  }
  switch (lane % 3) {
  case F:
    --forwardsLeft[rank];
    break;
  case I:
    ++inputsDone[rank];
    ++stock[rank];
    break;
  case W:
    --stock[rank];
    break;
  }
}

bool Walk::fits(int32_t rank, int32_t lane) const {
  const WalkLane &l = problem.lanes[lane];
  if (l.taken == 0)
    return true;
  int32_t until = place[(lane << problem.shift) | next[lane]];
  if (until == head[rank])
    return true;
  // Too far before its place, an action is not worth the time of the check.
  if (until - head[rank] > 64 * problem.ranks)
    return false;
  Grains now = held[rank] + l.taken;
  const std::vector<Code> &order = plan->orders[rank];
  if (now > pullLimit)
    return false;
  now -= l.freed;
  for (int32_t at = head[rank]; at < until; ++at) {
    if (started[order[at]])
      continue;
    const WalkLane &other = problem.lanes[order[at] >> problem.shift];
    now += other.taken;
    if (now > pullLimit && now > problem.memory)
      return false;
    now -= other.freed;
  }
  return true;
}

Walk::Choice Walk::dueFirst(int32_t rank, Ticks now, bool weights) const {
  Choice first;
  for (int32_t lane : problem.lanesOf[rank]) {
    if ((lane % 3 == W) != weights || next[lane] == problem.microbatches)
      continue;
    Code code = (lane << problem.shift) | next[lane];
    if (missing[code] > 0 || arrival[code] > now)
      continue;
    Ticks due = dueOf(lane);
    if ((first.lane < 0 || due < first.due) && fits(rank, lane))
      first = {lane, due};
  }
  return first;
}

Ticks Walk::arrivesSoon(int32_t rank, Ticks now, Choice best,
                        Ticks horizon) const {
  Ticks soon = kNever;
  for (int32_t lane : problem.lanesOf[rank]) {
    if (lane % 3 == W || next[lane] == problem.microbatches)
      continue;
    Code code = (lane << problem.shift) | next[lane];
    if (missing[code] > 0 || arrival[code] <= now || arrival[code] >= horizon ||
        arrival[code] >= soon)
      continue;
    if ((best.lane < 0 || dueOf(lane) < best.due) && fits(rank, lane))
      soon = arrival[code];
  }
  return soon;
}

Ticks Walk::arrivesNext(int32_t rank, Ticks now) const {
  Ticks time = kNever;
  for (int32_t lane : problem.lanesOf[rank])
    if (next[lane] < problem.microbatches) {
      Code code = (lane << problem.shift) | next[lane];
      if (missing[code] == 0 && arrival[code] > now)
        time = std::min(time, arrival[code]);
    }
  return time;
}

int32_t Walk::decide(int32_t rank, Ticks now) const {
  Choice best = dueFirst(rank, now, /*weights=*/false);
  Choice weight = dueFirst(rank, now, /*weights=*/true);
  if (weight.lane >= 0 && best.lane >= 0 && stock[rank] > settings->stock &&
      forwardsLeft[rank] > 0)
    best = weight;
  Ticks horizon =
      best.lane < 0 ? kNever : now + problem.lanes[best.lane].duration;
  Ticks soon = arrivesSoon(rank, now, best, horizon);
  if (soon == kNever)
    return best.lane < 0 ? weight.lane : best.lane;
  double patience =
      inputsDone[rank] == 0 ? settings->patienceFilling : settings->patience;
  if (best.lane >= 0 && best.lane != weight.lane &&
      double(soon - now) > patience * double(horizon - now))
    return best.lane;
  if (weight.lane >= 0 && double(soon - now) * (1 + settings->overfill) >=
                              double(problem.lanes[weight.lane].duration))
    return weight.lane;
  return -1;
}

void Walk::reset() {
  orders.assign(problem.ranks, {});
  std::fill(arrival.begin(), arrival.end(), 0);
  std::fill(started.begin(), started.end(), 0);
  for (auto *byRank : {&head, &stock, &inputsDone, &forwardsLeft})
    std::fill(byRank->begin(), byRank->end(), 0);
  std::fill(freeAt.begin(), freeAt.end(), 0);
  std::fill(held.begin(), held.end(), 0);
  std::fill(next.begin(), next.end(), 0);
  for (int32_t rank = 0; rank < problem.ranks; ++rank) {
    const std::vector<Code> &order = plan->orders[rank];
    orders[rank].reserve(order.size());
    for (size_t at = 0; at < order.size(); ++at) {
      int32_t lane = order[at] >> problem.shift;
      place[order[at]] = int32_t(at);
      missing[order[at]] = problem.lanes[lane].inputs;
      forwardsLeft[rank] += lane % 3 == F;
    }
    wake.set(rank, 0);
  }
}

const FastOrders &Walk::run(const WalkPlan &given, const WalkSettings &by,
                            Ticks until) {
  plan = &given;
  settings = &by;
  pullLimit = Grains(double(problem.memory) * by.pullMemory);
  for (const std::vector<int32_t> &lanes : problem.lanesOf) {
    for (size_t i = 0; i < lanes.size(); ++i) {
      double earlier = by.preferLater * double(i / 3);
      if (lanes[i] % 3 == I)
        earlier += by.preferInput;
      bias[lanes[i]] = Ticks(earlier * double(problem.period));
    }
  }
  reset();
  for (auto [now, rank] = wake.first(); now < until;
       std::tie(now, rank) = wake.first()) {
    if (int32_t lane = decide(rank, now); lane >= 0)
      start(rank, lane, now);
    else
      wake.set(rank, arrivesNext(rank, now));
  }
  for (int32_t rank = 0; rank < problem.ranks; ++rank)
    for (Code code : plan->orders[rank])
      if (!started[code])
        orders[rank].push_back(code);
  return orders;
}

} // namespace stagewright::search
