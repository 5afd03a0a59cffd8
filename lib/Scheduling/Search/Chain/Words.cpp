//===- Words.cpp - timing words and changed parts of them -----------------===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Search/Chain/Words.h"
#include <algorithm>

namespace stagewright::search {

Words::Words(const FastProblem &problem, bool span)
    : problem(problem), words(problem.ranks), origins(problem.ranks, 0),
      starts(problem.ranks), trialStarts(problem.ranks), first(problem.ranks),
      next(problem.ranks), frees(problem.ranks), baseFrees(problem.ranks) {
  size_t ranks = problem.ranks;
  for (Phase phase : {F, I}) {
    ends[phase].assign(ranks, std::vector<Ticks>(problem.microbatches));
    trialEnds[phase] = ends[phase];
    firstNumber[phase].assign(ranks, 0);
    reached[phase].assign(ranks, 0);
    waitingNumber[phase].assign(ranks, -1);
  }
  starts.assign(ranks, std::vector<Ticks>(length()));
  trialStarts = starts;
  ready.reserve(4 * ranks);
  for (size_t rank = 1; rank < ranks && span; ++rank)
    origins[rank] = origins[rank - 1] +
                    problem.lane(int32_t(rank) - 1, F).duration +
                    problem.lane(int32_t(rank), F).hop;
}

bool Words::assign(const FastOrders &orders) {
  for (int32_t rank = 0; rank < problem.ranks; ++rank) {
    words[rank].clear();
    int32_t before[3] = {0, 0, 0};
    for (Code code : orders[rank]) {
      Phase phase = problem.phaseOf(code);
      if (problem.microbatchOf(code) != before[phase])
        return false;
      words[rank].push_back({phase, {before[0], before[1], before[2]}});
      ++before[phase];
    }
  }
  std::fill(first.begin(), first.end(), 0);
  for (Phase phase : {F, I})
    std::fill(firstNumber[phase].begin(), firstNumber[phase].end(), 0);
  if (!retime(std::numeric_limits<Ticks>::max()))
    return false;
  keep();
  return true;
}

FastOrders Words::orders() const {
  FastOrders orders(problem.ranks);
  for (int32_t rank = 0; rank < problem.ranks; ++rank)
    for (const Letter &letter : words[rank])
      orders[rank].push_back(problem.code(rank, letter.phase, letter.number()));
  return orders;
}

Ticks Words::remaining(int32_t rank, const Letter &letter) const {
  Ticks work = 0;
  for (int phase = 0; phase < problem.phases; ++phase)
    work += (problem.microbatches - letter.before[phase]) *
            problem.lanes[3 * rank + phase].duration;
  return work;
}

/// Runs `rank` as far as it can; false past the limit.
bool Words::runRank(int32_t rank, Ticks limit) {
  const std::vector<Letter> &word = words[rank];
  const Lane *lanes = &problem.lanes[3 * rank];
  Ticks time = frees[rank];
  int32_t at = next[rank], end = length();
  for (; at < end; ++at) {
    const Letter &letter = word[at];
    Phase phase = letter.phase;
    int32_t number = letter.number();
    Ticks start = time;
    int32_t from = phase == F ? rank - 1 : rank + 1;
    if (phase != W && from >= 0 && from < problem.ranks) {
      if (number >= reached[phase][from]) {
        waitingNumber[phase][from] = number;
        break;
      }
      Ticks made = number >= firstNumber[phase][from]
                       ? trialEnds[phase][from][number]
                       : ends[phase][from][number];
      start = std::max(start, made + lanes[phase].hop);
      if (start > time &&
          start + remaining(rank, letter) - origins[rank] > limit)
        return false;
    }
    trialStarts[rank][at] = start;
    time = start + lanes[phase].duration;
    if (phase != W) {
      trialEnds[phase][rank][number] = time;
      reached[phase][rank] = number + 1;
      if (waitingNumber[phase][rank] == number) {
        waitingNumber[phase][rank] = -1;
        ready.push_back(phase == F ? rank + 1 : rank - 1);
      }
    }
  }
  stepsDone += at - next[rank];
  frees[rank] = time;
  next[rank] = at;
  return true;
}

bool Words::retime(Ticks limit) {
  ready.clear();
  for (int32_t rank = problem.ranks; rank-- > 0;) {
    int32_t at = first[rank];
    next[rank] = at;
    bool none = at == length();
    for (Phase phase : {F, I}) {
      int32_t number =
          none ? problem.microbatches : words[rank][at].before[phase];
      firstNumber[phase][rank] = reached[phase][rank] = number;
      waitingNumber[phase][rank] = -1;
    }
    frees[rank] =
        at == 0 ? 0
                : starts[rank][at - 1] +
                      problem.lane(rank, words[rank][at - 1].phase).duration;
    if (!none)
      ready.push_back(rank);
  }
  while (!ready.empty()) {
    int32_t rank = ready.back();
    ready.pop_back();
    if (!runRank(rank, limit))
      return false;
  }
  trial = {};
  for (int32_t rank = 0; rank < problem.ranks; ++rank) {
    if (next[rank] < length())
      return false;
    Ticks end = frees[rank] - origins[rank];
    trial.worst = std::max(trial.worst, end);
    trial.sum += end;
  }
  return trial.worst <= limit;
}

void Words::keep() {
  for (int32_t rank = 0; rank < problem.ranks; ++rank) {
    std::copy(trialStarts[rank].begin() + first[rank], trialStarts[rank].end(),
              starts[rank].begin() + first[rank]);
    for (Phase phase : {F, I}) {
      int32_t from = firstNumber[phase][rank];
      std::copy(trialEnds[phase][rank].begin() + from,
                trialEnds[phase][rank].end(), ends[phase][rank].begin() + from);
    }
  }
  baseFrees = frees;
  base = trial;
  pending = false;
}

} // namespace stagewright::search
