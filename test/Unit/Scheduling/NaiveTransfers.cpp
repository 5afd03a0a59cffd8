//===- NaiveTransfers.cpp - messages by brute force -----------------------===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Naive.h"
#include <map>
#include <set>

namespace stagewright::testing {

namespace {

/// A message: the phase that produces it, from stage, to stage, microbatch.
using Name = std::tuple<char, int64_t, int64_t, int64_t>;

class Runner {
public:
  Runner(const TorchLists &lists, bool forwardOnly)
      : lists(lists), forwardOnly(forwardOnly) {}

  bool run();

private:
  bool readComputations();
  bool hasEveryMessage();
  std::optional<Name> inputOf(const Action &action) const;
  bool ready(const Action &action);
  bool compute(size_t rank);
  bool communicate(const TorchEntry &entry);
  bool step(size_t rank);

  const TorchLists &lists;
  bool forwardOnly;
  std::map<Cell, size_t> rankOf;
  std::set<Cell> recomputed;
  std::vector<size_t> next;
  std::set<std::pair<char, Cell>> done;
  std::set<Name> sent, received;
  /// By sender and receiver: messages in the order in which they are posted.
  std::map<std::pair<size_t, size_t>, std::vector<Name>> sends, receives;
};

} // namespace

static Name nameOf(const TorchEntry &entry) {
  auto [stage, m] = cellOf(entry.action);
  bool receive = entry.op == TorchOp::Receive;
  bool up = (letterOf(entry.action) == 'F') != receive;
  int64_t peer = up ? stage + 1 : stage - 1;
  return {letterOf(entry.action), receive ? peer : stage,
          receive ? stage : peer, m};
}

bool Runner::readComputations() {
  Schedule computations{"", lists.stages, lists.microbatches, {}};
  for (const TorchOrder &order : lists.ranks) {
    computations.ranks.emplace_back();
    for (size_t i = 0; i < order.size(); ++i) {
      const Action &action = order[i].action;
      if (order[i].op != TorchOp::Compute)
        continue;
      if (action.paired && (i == 0 || order[i - 1].op != TorchOp::Compute))
        return false;
      computations.ranks.back().push_back(action);
      rankOf[cellOf(action)] = computations.ranks.size() - 1;
      if (letterOf(action) == 'R')
        recomputed.insert(cellOf(action));
    }
  }
  return isComplete(computations, forwardOnly);
}

/// Whether every required send, receive and wait occurs once, on its rank.
bool Runner::hasEveryMessage() {
  std::map<std::pair<TorchOp, Name>, std::vector<size_t>> wanted, found;
  for (auto [cell, rank] : rankOf)
    for (int64_t to : {cell.first - 1, cell.first + 1}) {
      bool back = to < cell.first;
      if (to < 0 || to >= lists.stages || (back && forwardOnly) ||
          rankOf[{to, cell.second}] == rank)
        continue;
      Name name(back ? 'I' : 'F', cell.first, to, cell.second);
      wanted[{TorchOp::Send, name}] = {rank};
      wanted[{TorchOp::WaitSend, name}] = {rank};
      wanted[{TorchOp::Receive, name}] = {rankOf[{to, cell.second}]};
    }
  for (size_t rank = 0; rank < lists.ranks.size(); ++rank)
    for (const TorchEntry &entry : lists.ranks[rank])
      if (entry.op != TorchOp::Compute)
        found[{entry.op, nameOf(entry)}].push_back(rank);
  return wanted == found;
}

std::optional<Name> Runner::inputOf(const Action &action) const {
  auto [stage, m] = cellOf(action);
  char kind = letterOf(action);
  if (kind == 'F' && stage > 0)
    return Name('F', stage - 1, stage, m);
  if ((kind == 'B' || kind == 'I') && stage + 1 < lists.stages)
    return Name('I', stage + 1, stage, m);
  return std::nullopt;
}

bool Runner::ready(const Action &action) {
  Cell cell = cellOf(action);
  char kind = letterOf(action);
  if (kind != 'F' && !done.contains({'F', cell}))
    return false;
  if (kind == 'W' && !done.contains({'I', cell}))
    return false;
  if ((kind == 'B' || kind == 'I') && recomputed.contains(cell) &&
      !done.contains({'R', cell}))
    return false;
  std::optional<Name> input = inputOf(action);
  if (!input)
    return true;
  auto [what, from, to, m] = *input;
  if (rankOf[{from, m}] == rankOf[{to, m}])
    return done.contains({what, Cell(from, m)});
  return sent.contains(*input) && received.contains(*input);
}

/// Runs the next computation or pair of `rank` if its inputs are ready.
bool Runner::compute(size_t rank) {
  const TorchOrder &order = lists.ranks[rank];
  size_t first = next[rank], last = first;
  if (first + 1 < order.size() && order[first + 1].op == TorchOp::Compute &&
      order[first + 1].action.paired)
    ++last;
  for (size_t i = first; i <= last; ++i)
    if (!ready(order[i].action))
      return false;
  for (size_t i = first; i <= last; ++i) {
    char kind = letterOf(order[i].action);
    done.insert({kind == 'B' ? 'I' : kind, cellOf(order[i].action)});
  }
  next[rank] = last + 1;
  return true;
}

bool Runner::communicate(const TorchEntry &entry) {
  Name name = nameOf(entry);
  auto [what, from, to, m] = name;
  std::pair channel(rankOf[{from, m}], rankOf[{to, m}]);
  switch (entry.op) {
  case TorchOp::Send:
    if (!done.contains({what, Cell(from, m)}))
      return false;
    sent.insert(name);
    sends[channel].push_back(name);
    return true;
  case TorchOp::Receive:
    received.insert(name);
    receives[channel].push_back(name);
    return true;
  default:
    return sent.contains(name) && received.contains(name);
  }
}

bool Runner::step(size_t rank) {
  if (next[rank] == lists.ranks[rank].size())
    return false;
  const TorchEntry &entry = lists.ranks[rank][next[rank]];
  if (entry.op == TorchOp::Compute)
    return compute(rank);
  if (!communicate(entry))
    return false;
  ++next[rank];
  return true;
}

bool Runner::run() {
  if (!readComputations() || !hasEveryMessage())
    return false;
  next.assign(lists.ranks.size(), 0);
  for (bool progress = true; progress;) {
    progress = false;
    for (size_t rank = 0; rank < next.size(); ++rank)
      progress = step(rank) || progress;
  }
  for (size_t rank = 0; rank < next.size(); ++rank)
    if (next[rank] != lists.ranks[rank].size())
      return false;
  return sends == receives;
}

bool finishesNaively(const TorchLists &lists) {
  bool forwardOnly = true;
  for (const TorchOrder &order : lists.ranks)
    for (const TorchEntry &entry : order)
      forwardOnly &=
          entry.op != TorchOp::Compute ||
          (letterOf(entry.action) != 'B' && letterOf(entry.action) != 'I');
  return Runner(lists, forwardOnly).run();
}

} // namespace stagewright::testing
