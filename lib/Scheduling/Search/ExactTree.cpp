//===- ExactTree.cpp - depth-first search under one value -----------------===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Search/ExactTree.h"
#include <algorithm>

namespace stagewright::search {

using namespace bounds;

ExactTree::ExactTree(const Chain &chain, const Window &window, double value)
    : chain(chain), window(window), tolerance(1e-11 * value),
      counting(chain, window, value), possible(counting.narrow(20)),
      tables(possible ? chain.problem.ranks : 0), ranks(tables.size()) {
  const ScheduleProblem &problem = chain.problem;
  remaining = actions();
  for (int64_t rank = 0; rank < int64_t(ranks.size()); ++rank) {
    counting.timesOf(rank, tables[rank]);
    for (std::vector<double> &ends : ranks[rank].ends)
      ends.assign(problem.microbatches, 0);
    tight.push_back(problem.stages[rank].activation *
                        double(problem.microbatches) >
                    problem.memory);
  }
}

/// Whether what the next action of `kind` waits for is scheduled, and when it
/// is there.
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

/// By when the next action of `kind` has to end for all to come out in time, or
/// a negative time if memory has no room for it.
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

/// All actions that could come next on their rank; false if one of them is too
/// late whatever is done.
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

bool ExactTree::apply(const Choice &choice) {
  Rank &own = ranks[choice.rank];
  double free = own.free;
  bool putOff = own.putOff;
  int64_t n = own.done[choice.kind]++;
  if (choice.kind != W)
    own.ends[choice.kind][n] = choice.end;
  own.free = choice.end;
  own.putOff = false;
  own.order.push_back(choice.kind);
  --remaining;
  if (branch())
    return true;
  ++remaining;
  own.order.pop_back();
  own.putOff = putOff;
  own.free = free;
  --own.done[choice.kind];
  return false;
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

bool ExactTree::branch() {
  if (remaining == 0)
    return true;
  if (++visited > nodeLimit)
    return false;
  std::vector<Choice> choices;
  if (!collect(choices) || choices.empty())
    return false;
  Choice first = *std::min_element(
      choices.begin(), choices.end(),
      [](const Choice &a, const Choice &b) { return a.end < b.end; });
  std::erase_if(choices, [&](const Choice &choice) {
    return choice.rank != first.rank ||
           (choice.start >= first.end - tolerance && choice.kind != first.kind);
  });
  std::sort(choices.begin(), choices.end(),
            [&](const Choice &a, const Choice &b) {
              return std::pair(key(a), a.kind) < std::pair(key(b), b.kind);
            });
  for (const Choice &choice : choices)
    if (apply(choice))
      return true;
  Rank &own = ranks[first.rank];
  if (first.kind != F || !tight[first.rank] || own.putOff)
    return false;
  own.putOff = true;
  if (branch())
    return true;
  own.putOff = false;
  return false;
}

TreeResult ExactTree::search(int64_t limit, Preference preferred) {
  if (!possible)
    return TreeResult::None;
  nodeLimit = visited + limit;
  preference = preferred;
  if (branch())
    return TreeResult::Found;
  return visited > nodeLimit ? TreeResult::Limit : TreeResult::None;
}

Schedule ExactTree::schedule() const {
  Schedule schedule{
      "exact", chain.problem.ranks, chain.problem.microbatches, {}};
  constexpr ActionKind kKinds[] = {ActionKind::Forward,
                                   ActionKind::InputGradient,
                                   ActionKind::WeightGradient};
  for (int64_t rank = 0; rank < int64_t(ranks.size()); ++rank) {
    Order &order = schedule.ranks.emplace_back();
    int64_t next[3] = {0, 0, 0};
    for (Kind kind : ranks[rank].order)
      order.push_back({kKinds[kind], rank, next[kind]++});
  }
  return schedule;
}

double ExactTree::value() const {
  double value = 0;
  for (int64_t rank = 0; rank < int64_t(ranks.size()); ++rank)
    value = std::max(value, ranks[rank].free -
                                (window.makespan ? 0 : chain.forward(0, rank)));
  return value;
}

} // namespace stagewright::search
