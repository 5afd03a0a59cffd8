//===- ExactChoices.cpp - the possible next actions -----------------------===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Search/Chain/ExactTree.h"
#include <algorithm>

namespace stagewright::search {

using namespace bounds;

/// Whether the next action of `kind` can be scheduled; `ready` is then the
/// earliest time at which it can start.
bool ExactTree::arrived(int64_t rank, Kind kind, double &ready) const {
  const Rank &own = ranks[rank];
  int64_t n = own.done[kind];
  ready = own.free;
  if (n == (kind == F ? chain.problem.microbatches : own.done[kind - 1]))
    return false;
  if (kind == F && own.putOff)
    return false;
  int64_t from = kind == F ? rank - 1 : rank + 1;
  if (kind == W || from < 0 || from == chain.problem.ranks)
    return true;
  if (ranks[from].done[kind] <= n)
    return false;
  double hop = chain.problem.hops[std::min(rank, from)].value;
  ready = std::max(ready, ranks[from].ends[kind][n] + hop);
  return true;
}

/// The latest end of the next action of `kind` for which the value can still be
/// met; negative if it does not fit the memory.
double ExactTree::latestAfter(int64_t rank, Kind kind) const {
  int64_t done[3];
  std::copy_n(ranks[rank].done, 3, done);
  int64_t n = done[kind]++;
  const Walk &walk = counting.walk(rank);
  if (!walk.fits(done[F], done[I], done[W]))
    return -1;
  double latest = walk.latest(tables[rank], done[F], done[I], done[W]);
  if (kind == F)
    return std::min(latest, walk.forward.end[n]);
  return kind == I ? std::min(latest, walk.input.end[n]) : latest;
}

/// Collects all actions that can be next on their rank; false if one of them is
/// too late in any case.
bool ExactTree::collect(std::vector<Choice> &choices) const {
  for (int64_t rank = 0; rank < int64_t(ranks.size()); ++rank) {
    double lengths[3] = {chain.forwardTime(rank), chain.inputTime(rank),
                         chain.weightTime(rank)};
    const Rank &own = ranks[rank];
    const Walk &walk = counting.walk(rank);
    for (Kind kind : {F, I, W}) {
      double ready;
      if (!arrived(rank, kind, ready))
        continue;
      double end = ready + lengths[kind];
      if ((kind == F && end > walk.forward.end[own.done[F]] + tolerance) ||
          (kind == I && end > walk.input.end[own.done[I]] + tolerance))
        return false;
      double slack = latestAfter(rank, kind) - end;
      if (slack >= -tolerance)
        choices.push_back({rank, kind, ready, end, slack});
    }
  }
  return true;
}

double ExactTree::key(const Choice &choice) const {
  constexpr int kInputFirst[] = {1, 0, 2};
  switch (preference) {
  case Slack:
    return -choice.slack;
  case Deadline:
    return choice.end + choice.slack;
  case InputFirst:
    return kInputFirst[choice.kind];
  case ForwardFirst:
    return choice.kind;
  case Start:
    return choice.start;
  }
  return 0;
}

} // namespace stagewright::search
