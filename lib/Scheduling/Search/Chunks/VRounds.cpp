//===- VRounds.cpp - V schedules by rounds of backwards -------------------===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Search/Chunks/VRounds.h"
#include <algorithm>
#include <deque>

namespace stagewright::search {

namespace {

/// Which gaps may be filled with a W that is longer than the gap.
struct RoundSettings {
  bool fillForward = true; ///< Gaps before a forward.
  bool fillTurned = true;  ///< Gaps before an I of the later chunk.
};

class Rounds {
public:
  Rounds(const FastProblem &problem, RoundSettings settings,
         std::vector<Ticks> approved)
      : problem(problem), settings(settings), approved(std::move(approved)),
        orders(problem.ranks), idle(problem.ranks), time(problem.ranks),
        held(problem.ranks), pending(problem.ranks), done(problem.lanes.size()),
        ends(done.size() << problem.shift) {}

  /// False if the construction does not fit in memory.
  bool run();
  Ticks mostIdle() const { return *std::max_element(idle.begin(), idle.end()); }

  const FastProblem &problem;
  RoundSettings settings;
  std::vector<Ticks> approved;
  FastOrders orders;
  std::vector<Ticks> idle;

private:
  int32_t lane(int32_t rank, int32_t chunk, Phase phase) const {
    return 3 * problem.stagesOf[rank][chunk] + phase;
  }
  int32_t count(int32_t rank, int32_t chunk, Phase phase) const {
    return done[lane(rank, chunk, phase)];
  }
  bool more(int32_t rank, int32_t chunk, Phase phase) const {
    return count(rank, chunk, phase) < problem.microbatches;
  }
  bool inputDone(int32_t lane) const {
    int32_t input = problem.lanes[lane].input;
    return input < 0 || done[input] > done[lane];
  }
  /// When the input of the next action of `lane` arrives.
  Ticks arrival(int32_t lane) const {
    const Lane &l = problem.lanes[lane];
    return l.input < 0 ? 0
                       : ends[(l.input << problem.shift) | done[lane]] + l.hop;
  }
  void put(int32_t lane);
  void putWeight(int32_t rank);
  /// Puts weight gradients into the gap before the next action of `lane`.
  void fillGap(int32_t lane, bool overfill);
  Ticks allowance(int32_t rank) const;
  bool firstMicrobatch();
  void levelForwards();
  void backwards();
  bool forwards();

  std::vector<Ticks> time;
  std::vector<Grains> held;
  std::vector<std::deque<int32_t>> pending; ///< Lanes of W, oldest first.
  std::vector<int32_t> done;                ///< By lane.
  std::vector<Ticks> ends;
  bool fits = true;
};

} // namespace

void Rounds::put(int32_t number) {
  const Lane &l = problem.lanes[number];
  int32_t rank = l.rank, j = done[number];
  bool first = orders[rank].empty();
  Ticks start = std::max(time[rank], arrival(number));
  if (!first)
    idle[rank] += start - time[rank];
  Code code = (number << problem.shift) | j;
  ends[code] = time[rank] = start + l.duration;
  fits &= held[rank] + l.taken <= problem.memory;
  held[rank] += l.taken - l.freed;
  orders[rank].push_back(code);
  ++done[number];
  if (number % 3 == I)
    pending[rank].push_back(number + 1);
}

void Rounds::putWeight(int32_t rank) {
  int32_t number = pending[rank].front();
  pending[rank].pop_front();
  put(number);
}

Ticks Rounds::allowance(int32_t rank) const {
  Ticks most = *std::max_element(approved.begin(), approved.end());
  return std::max(mostIdle(), most - approved[rank]);
}

void Rounds::fillGap(int32_t number, bool overfill) {
  int32_t rank = problem.lanes[number].rank;
  if (problem.lanes[number].input < 0)
    return;
  Ticks at = arrival(number);
  auto next = [&] { return problem.lanes[pending[rank].front()].duration; };
  while (!pending[rank].empty() && at >= time[rank] + next())
    putWeight(rank);
  if (overfill && !pending[rank].empty() &&
      at - time[rank] > allowance(rank) - idle[rank])
    putWeight(rank);
}

/// Runs microbatch 0 through all forwards. Before it returns to a rank, runs
/// more forwards of chunk 0 on that rank and those before it, if they fit in
/// time and memory.
bool Rounds::firstMicrobatch() {
  for (int32_t rank = 0; rank < problem.ranks; ++rank)
    put(lane(rank, 0, F));
  put(lane(problem.ranks - 1, 1, F));
  for (int32_t rank = problem.ranks - 1; rank-- > 0;) {
    const Lane &forward = problem.lanes[lane(rank, 0, F)];
    Ticks back = arrival(lane(rank, 1, F));
    while (held[rank] + forward.taken * (2 + 2 * rank) <= problem.memory &&
           time[rank] + forward.duration <= back && more(rank, 0, F))
      for (int32_t before = 0; before <= rank; ++before)
        put(lane(before, 0, F));
    put(lane(rank, 1, F));
  }
  return fits;
}

/// Runs forwards, alternating between the chunks, until every rank has run as
/// many as the rank before it.
void Rounds::levelForwards() {
  int32_t chunk = 0;
  for (int32_t rank = 1; rank < problem.ranks; ++rank) {
    auto total = [&](int32_t r) { return count(r, 0, F) + count(r, 1, F); };
    int32_t without = 0; // Consecutive turns in which `rank` ran nothing.
    while (
        total(rank) < total(rank - 1) ||
        (count(rank, 1, F) <= count(rank - 1, 1, F) && more(rank - 1, 1, F))) {
      int32_t before = total(rank);
      for (int32_t r = problem.ranks; r-- > rank;)
        if (more(r, chunk, F) && inputDone(lane(r, chunk, F)))
          put(lane(r, chunk, F));
      chunk = 1 - chunk;
      without = total(rank) == before ? without + 1 : 0;
      if (without > 1 || !fits)
        break;
    }
  }
}

void Rounds::backwards() {
  int32_t ranks = problem.ranks;
  std::vector<int32_t> first, second;
  for (int32_t rank = 0; rank < ranks; ++rank) {
    bool behind = count(rank, 0, I) < count(rank, 1, I);
    if (behind && (inputDone(lane(rank, 0, I)) || !more(rank, 1, I)))
      first.push_back(lane(rank, 0, I));
    else if (more(rank, 1, I))
      second.push_back(lane(rank, 1, I));
  }
  std::reverse(first.begin(), first.end());
  for (const std::vector<int32_t> *lanes : {&first, &second})
    for (int32_t number : *lanes) {
      if (!inputDone(number))
        continue;
      fillGap(number, lanes == &first || settings.fillTurned);
      put(number);
    }
}

bool Rounds::forwards() {
  for (int32_t rank = 0; rank < problem.ranks; ++rank) {
    if (!more(rank, 1, F))
      continue;
    int32_t next = lane(rank, 1, F);
    if (count(rank, 1, F) >= count(rank, 0, F) || !inputDone(next)) {
      next = lane(rank, 0, F);
      if (!more(rank, 0, F) || !inputDone(next))
        continue;
    }
    while (held[rank] + problem.lanes[next].taken > problem.memory) {
      if (pending[rank].empty())
        return false;
      putWeight(rank);
    }
    fillGap(next, settings.fillForward);
    put(next);
  }
  return fits;
}

bool Rounds::run() {
  if (!firstMicrobatch())
    return false;
  levelForwards();
  for (int32_t round = 0; fits && round < 2 * problem.microbatches; ++round) {
    backwards();
    if (!forwards())
      return false;
  }
  for (int32_t rank = 0; rank < problem.ranks; ++rank) {
    while (!pending[rank].empty())
      putWeight(rank);
    if (int64_t(orders[rank].size()) != problem.actionsPerRank(rank))
      return false;
  }
  return fits;
}

std::vector<FastOrders> buildByRounds(const FastProblem &problem) {
  std::vector<FastOrders> results;
  Ticks best = INT64_MAX;
  for (int variant = 0; variant < 4; ++variant) {
    RoundSettings settings{variant % 2 == 0, variant / 2 == 0};
    std::vector<Ticks> approved(problem.ranks, -1);
    for (Ticks last = INT64_MAX;;) {
      Rounds rounds(problem, settings, approved);
      if (!rounds.run() || rounds.mostIdle() >= last)
        break;
      last = rounds.mostIdle();
      if (last < best) {
        best = last;
        results.push_back(rounds.orders);
      }
      approved = rounds.idle;
    }
  }
  std::reverse(results.begin(), results.end());
  return results;
}

} // namespace stagewright::search
