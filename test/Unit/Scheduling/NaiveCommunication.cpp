//===- NaiveCommunication.cpp - messages by brute force -------------------===//
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
  Runner(const CommSchedule &schedule, bool forwardOnly, int64_t room)
      : schedule(schedule), forwardOnly(forwardOnly), room(room) {}

  bool run();

private:
  bool readComputations();
  bool hasEveryMessage();
  std::optional<Name> inputOf(const Action &action) const;
  bool ready(const Action &action);
  bool compute(size_t rank);
  bool communicate(const CommAction &entry);
  bool step(size_t rank);

  const CommSchedule &schedule;
  bool forwardOnly;
  int64_t room;
  bool overflown = false; ///< A receive had no free slot.
  std::map<Cell, size_t> rankOf;
  std::set<Cell> recomputed;
  std::vector<size_t> next;
  std::set<std::pair<char, Cell>> done;
  std::set<Name> sent, received;
  /// By sender and receiver: messages in the order in which they are posted.
  std::map<std::pair<size_t, size_t>, std::vector<Name>> sends, receives;
  /// By phase, both stages and the sender: messages received and not yet used.
  std::map<std::tuple<char, int64_t, int64_t, size_t>, int64_t> held;
};

} // namespace

static Name nameOf(const CommAction &entry) {
  bool receive = entry.kind == CommKind::Receive;
  return {letterOf(entry.action), receive ? entry.peer : entry.action.stage,
          receive ? entry.action.stage : entry.peer, entry.action.microbatch};
}

bool Runner::readComputations() {
  Schedule computations{"", schedule.stages, schedule.microbatches, {}};
  for (const CommOrder &order : schedule.ranks) {
    computations.ranks.emplace_back();
    for (size_t i = 0; i < order.size(); ++i) {
      const Action &action = order[i].action;
      if (order[i].kind != CommKind::Compute)
        continue;
      if (action.paired && (i == 0 || order[i - 1].kind != CommKind::Compute))
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
  std::map<std::pair<CommKind, Name>, std::vector<size_t>> wanted, found;
  for (auto [cell, rank] : rankOf)
    for (int64_t to : {cell.first - 1, cell.first + 1}) {
      bool back = to < cell.first;
      if (to < 0 || to >= schedule.stages || (back && forwardOnly) ||
          rankOf[{to, cell.second}] == rank)
        continue;
      Name name(back ? 'I' : 'F', cell.first, to, cell.second);
      wanted[{CommKind::Send, name}] = {rank};
      wanted[{CommKind::WaitSend, name}] = {rank};
      wanted[{CommKind::Receive, name}] = {rankOf[{to, cell.second}]};
    }
  for (size_t rank = 0; rank < schedule.ranks.size(); ++rank)
    for (const CommAction &entry : schedule.ranks[rank])
      if (entry.kind != CommKind::Compute)
        found[{entry.kind, nameOf(entry)}].push_back(rank);
  return wanted == found;
}

std::optional<Name> Runner::inputOf(const Action &action) const {
  auto [stage, m] = cellOf(action);
  char kind = letterOf(action);
  if (kind == 'F' && stage > 0)
    return Name('F', stage - 1, stage, m);
  if ((kind == 'B' || kind == 'I') && stage + 1 < schedule.stages)
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
  const CommOrder &order = schedule.ranks[rank];
  size_t first = next[rank], last = first;
  if (first + 1 < order.size() && order[first + 1].kind == CommKind::Compute &&
      order[first + 1].action.paired)
    ++last;
  for (size_t i = first; i <= last; ++i)
    if (!ready(order[i].action))
      return false;
  for (size_t i = first; i <= last; ++i) {
    char kind = letterOf(order[i].action);
    done.insert({kind == 'B' ? 'I' : kind, cellOf(order[i].action)});
    if (std::optional<Name> input = inputOf(order[i].action)) {
      auto [what, from, to, m] = *input;
      --held[{what, from, to, rankOf[{from, m}]}];
    }
  }
  next[rank] = last + 1;
  return true;
}

bool Runner::communicate(const CommAction &entry) {
  Name name = nameOf(entry);
  auto [what, from, to, m] = name;
  std::pair channel(rankOf[{from, m}], rankOf[{to, m}]);
  switch (entry.kind) {
  case CommKind::Send:
    if (!done.contains({what, Cell(from, m)}))
      return false;
    sent.insert(name);
    sends[channel].push_back(name);
    return true;
  case CommKind::Receive:
    if (++held[{what, from, to, channel.first}] > room && room > 0)
      overflown = true;
    received.insert(name);
    receives[channel].push_back(name);
    return true;
  default:
    return sent.contains(name) && received.contains(name);
  }
}

bool Runner::step(size_t rank) {
  if (next[rank] == schedule.ranks[rank].size())
    return false;
  const CommAction &entry = schedule.ranks[rank][next[rank]];
  if (entry.kind == CommKind::Compute)
    return compute(rank);
  if (!communicate(entry))
    return false;
  ++next[rank];
  return true;
}

bool Runner::run() {
  if (!readComputations() || !hasEveryMessage())
    return false;
  next.assign(schedule.ranks.size(), 0);
  for (bool progress = true; progress;) {
    progress = false;
    for (size_t rank = 0; rank < next.size(); ++rank)
      progress = step(rank) || progress;
  }
  for (size_t rank = 0; rank < next.size(); ++rank)
    if (next[rank] != schedule.ranks[rank].size())
      return false;
  return !overflown && sends == receives;
}

bool finishesNaively(const CommSchedule &schedule, bool forwardOnly,
                     int64_t room) {
  return Runner(schedule, forwardOnly, room).run();
}

} // namespace stagewright::testing
