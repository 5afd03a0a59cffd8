//===- Rows.cpp - what the rows of a rank follow --------------------------===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "stagewright/Dialect/Rank/Transforms/Machine.h"
#include <algorithm>
#include <map>

using namespace stagewright::rank;

namespace {

/// Links the rows of one rank.
class Linker {
public:
  Linker(const Machine &machine, RankEvents &rank)
      : machine(machine), rank(rank) {}

  std::optional<Fault> link();

private:
  /// A message of a channel, or a slot of a stash for a microbatch.
  using Message = std::tuple<bool, int32_t, int64_t>;

  std::optional<Fault> visit(size_t number, const Event &event);
  void acquire(size_t number, const Event &event);
  bool follows(size_t later, size_t earlier) const;

  const Machine &machine;
  RankEvents &rank;
  std::map<Message, size_t> filled;   ///< The row that fills it.
  std::map<Message, size_t> released; ///< The row that releases it.
};

bool fills(EventKind kind) {
  return kind == EventKind::Acquire || kind == EventKind::Recv;
}

bool uses(EventKind kind) {
  return kind == EventKind::Use || kind == EventKind::Release ||
         kind == EventKind::Received || kind == EventKind::ReleaseChannel;
}

} // namespace

/// Whether `later` follows `earlier`, directly or through rows of the same
/// microbatch. Rows may follow each other in a cycle, which the run reports.
bool Linker::follows(size_t later, size_t earlier) const {
  std::vector<size_t> seen = {later};
  for (size_t at = 0; at < seen.size(); ++at) {
    if (seen[at] == earlier)
      return true;
    for (size_t before : rank.rows[seen[at]].after)
      if (before == earlier ||
          (rank.rows[before].microbatch == rank.rows[later].microbatch &&
           std::find(seen.begin(), seen.end(), before) == seen.end()))
        seen.push_back(before);
  }
  return false;
}

std::optional<Fault> Linker::visit(size_t number, const Event &event) {
  if (!uses(event.kind))
    return std::nullopt;
  bool isStash =
      event.kind == EventKind::Use || event.kind == EventKind::Release;
  auto first = filled.find({isStash, event.object, event.microbatch});
  if (first == filled.end() || follows(number, first->second))
    return std::nullopt; // If no row fills it, the run reports the use.
  const Ring &ring =
      isStash ? rank.stashes[event.object] : machine.channels[event.object];
  return Fault{{rank.rows[number].name + " uses microbatch " +
                    std::to_string(event.microbatch) + " of '" + ring.name +
                    "', but does not follow " + rank.rows[first->second].name +
                    ", which holds it first",
                event.origin},
               {}};
}

/// Lets row `number` follow the one that releases the slot it acquires.
void Linker::acquire(size_t number, const Event &event) {
  if (event.kind != EventKind::Acquire)
    return;
  int64_t slots = std::max<int64_t>(rank.stashes[event.object].slots, 1);
  for (int64_t m = event.microbatch - slots; m >= 0; m -= slots)
    if (auto before = released.find({true, event.object, m});
        before != released.end()) {
      if (before->second != number)
        rank.rows[number].after.push_back(before->second);
      return;
    }
}

std::optional<Fault> Linker::link() {
  auto each = [&](auto see) {
    for (size_t number = 0; number < rank.rows.size(); ++number)
      for (size_t i = rank.rows[number].begin; i < rank.rows[number].end; ++i)
        see(number, rank.events[i]);
  };
  each([&](size_t number, const Event &event) {
    bool isStash =
        event.kind == EventKind::Acquire || event.kind == EventKind::Release;
    Message message = {isStash, event.object, event.microbatch};
    if (fills(event.kind))
      filled.try_emplace(message, number);
    if (event.kind == EventKind::Release)
      released.try_emplace(message, number);
  });
  std::optional<Fault> fault;
  each([&](size_t number, const Event &event) {
    if (!fault)
      fault = visit(number, event);
  });
  if (!fault)
    each([&](size_t number, const Event &event) { acquire(number, event); });
  return fault;
}

std::optional<Fault> stagewright::rank::linkRows(Machine &machine) {
  for (RankEvents &rank : machine.ranks) {
    std::optional<Fault> fault = Linker(machine, rank).link();
    if (fault)
      return fault;
    for (Row &row : rank.rows) {
      std::sort(row.after.begin(), row.after.end());
      row.after.erase(std::unique(row.after.begin(), row.after.end()),
                      row.after.end());
    }
  }
  return std::nullopt;
}
