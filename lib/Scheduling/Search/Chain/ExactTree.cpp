//===- ExactTree.cpp - depth-first search under a value -------------------===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Search/Chain/ExactTree.h"
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

void ExactTree::standing(Level &level) const {
  for (size_t rank = 0; rank < ranks.size(); ++rank) {
    const Rank &own = ranks[rank];
    for (int64_t done : own.done)
      level.progress.push_back(int32_t(done));
    level.progress.push_back(own.putOff);
    level.moment.push_back(own.free);
    for (Kind kind : {F, I}) {
      size_t user = kind == F ? rank + 1 : rank - 1;
      if (user < ranks.size())
        level.moment.insert(level.moment.end(),
                            own.ends[kind].begin() + ranks[user].done[kind],
                            own.ends[kind].begin() + own.done[kind]);
    }
  }
}

bool ExactTree::isHopeless(const Level &level) const {
  auto found = hopeless.find(level.progress);
  if (found == hopeless.end())
    return false;
  return std::any_of(
      found->second.begin(), found->second.end(), [&](const Moment &earlier) {
        return std::equal(earlier.begin(), earlier.end(), level.moment.begin(),
                          [](double a, double b) { return a <= b; });
      });
}

void ExactTree::remember(Level &level) {
  constexpr size_t kMost = 4 << 20, kMostEach = 16;
  if (remembered >= kMost || level.moment.empty())
    return;
  std::vector<Moment> &known = hopeless[level.progress];
  if (known.size() == kMostEach)
    return;
  remembered += level.progress.size() + level.moment.size();
  known.push_back(std::move(level.moment));
}

/// Sets up a new node; false if no schedule can follow from it.
bool ExactTree::open(Level &level) {
  standing(level);
  if (isHopeless(level)) {
    level.moment.clear(); // Nothing new to remember.
    return false;
  }
  std::vector<Choice> &choices = level.choices;
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
  level.rank = first.rank;
  level.mayPutOff =
      first.kind == F && tight[first.rank] && !ranks[first.rank].putOff;
  return true;
}

/// Applies the next untried choice of a node; false if none is left.
bool ExactTree::tryNext(Level &level) {
  Rank &own = ranks[level.rank];
  level.free = own.free;
  level.putOff = own.putOff;
  if (level.next == level.choices.size()) {
    if (!level.mayPutOff)
      return false;
    level.mayPutOff = false;
    level.tried = level.puttingOff = own.putOff = true;
    return true;
  }
  const Choice &choice = level.choices[level.next++];
  int64_t n = own.done[choice.kind]++;
  if (choice.kind != W)
    own.ends[choice.kind][n] = choice.end;
  own.free = choice.end;
  own.putOff = false;
  own.order.push_back(choice.kind);
  --remaining;
  level.tried = true;
  return true;
}

void ExactTree::undo(Level &level) {
  Rank &own = ranks[level.rank];
  own.free = level.free;
  own.putOff = level.putOff;
  level.tried = false;
  if (level.puttingOff)
    return;
  --own.done[own.order.back()];
  own.order.pop_back();
  ++remaining;
}

/// Searches depth first until all actions are scheduled, no choice is left or
/// the node limit is reached; in the last two cases all choices are undone. Not
/// recursive: the depth is the number of actions, too much for the call stack.
bool ExactTree::descend() {
  std::vector<Level> path(1);
  bool opened = open(path.back());
  ++visited;
  while (!path.empty()) {
    Level &level = path.back();
    if (level.tried)
      undo(level);
    if (visited <= nodeLimit && opened && tryNext(level)) {
      if (remaining == 0)
        return true;
      ++visited;
      opened = open(path.emplace_back());
      continue;
    }
    if (visited <= nodeLimit)
      remember(level);
    path.pop_back();
    opened = true;
  }
  return false;
}

TreeResult ExactTree::search(int64_t limit, Preference preferred) {
  if (!possible)
    return TreeResult::None;
  nodeLimit = visited + limit;
  preference = preferred;
  if (descend())
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
