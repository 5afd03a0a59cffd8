//===- MachineRunner.h - the state of a running machine ---------*- C++ -*-===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Private to this folder. Machine.cpp runs the events; Deadlocks.cpp explains
// why a run does not end, or what it leaves behind.
//
//===----------------------------------------------------------------------===//

#ifndef STAGEWRIGHT_LIB_DIALECT_RANK_TRANSFORMS_MACHINERUNNER_H
#define STAGEWRIGHT_LIB_DIALECT_RANK_TRANSFORMS_MACHINERUNNER_H

#include "stagewright/Dialect/Rank/Transforms/Machine.h"
#include <algorithm>
#include <limits>
#include <map>

namespace stagewright::rank {

/// Runs a machine, and holds its state between events.
class MachineRunner {
public:
  explicit MachineRunner(const Machine &machine) : machine(machine) {
    messages.reserve(machine.channels.size());
    for (const Ring &channel : machine.channels) {
      messages.emplace_back(channel.messages, Message::None);
      claimed.emplace_back(std::max<int64_t>(channel.slots, 1), -1);
    }
    for (const RankEvents &rank : machine.ranks) {
      std::vector<std::vector<int64_t>> rings;
      for (const Ring &stash : rank.stashes)
        rings.emplace_back(std::max<int64_t>(stash.slots, 1), -1);
      holders.push_back(std::move(rings));
    }
    next.assign(machine.ranks.size(), 0);
    for (const RankEvents &rank : machine.ranks) {
      choices.emplace_back(rank);
      stops.push_back(rank.isReadyFirst() ? rank.rows.front().begin
                                          : rank.events.size());
    }
    parts.resize(machine.sums.size());
  }

  /// Lets each rank in turn run until it waits or ends, at most `most` events a
  /// turn, until none can go on. Calls `see` for every event.
  std::optional<Fault>
  run(size_t most = std::numeric_limits<size_t>::max(),
      const std::function<void(size_t, const Event &)> &see = {});

private:
  /// State of one message of a channel.
  enum class Message : uint8_t { None, Claimed, Sent, Held, Released };

  /// State of one rank's part of a sum.
  enum class Part : uint8_t { Missing, Begun, Awaited };

  /// What a blocked rank waits for: one event of one other rank, or, if
  /// `awaited` is null, an event that never comes.
  struct Wait {
    const Event *at;
    const Event *awaited;
    size_t rank;
    std::string needs;
  };

  /// Returns true if `rank` ran any event or chose what to run next.
  bool advance(size_t rank, size_t most,
               const std::function<void(size_t, const Event &)> &see);
  bool choose(size_t rank);
  bool canRun(size_t rank, const Row &row) const;
  bool wouldWait(const Event &event) const;
  bool isDone(size_t rank) const {
    return next[rank] == machine.ranks[rank].events.size() &&
           choices[rank].left == 0;
  }
  /// Runs `event`; returns false if it has to wait or is a fault.
  bool step(size_t rank, const Event &event);
  bool stepChannel(const Event &event);
  bool stepStash(size_t rank, const Event &event);
  bool stepSum(size_t rank, const Event &event);
  /// A message, slot or part of a sum that the run has left behind.
  std::optional<Fault> leftOver() const;
  /// Why some rank did not end: a cycle of waits, or an event that never comes.
  Fault stuck();
  Fault noneReady(size_t rank);
  Wait waitOf(size_t rank);
  /// "message 3" or "microbatch 3" of `channel`.
  static std::string which(const Ring &channel, int64_t m);
  /// "F3", or "the end of its step".
  static std::string action(const Event &event);
  /// Whether events of this kind are on a channel.
  static bool onChannel(EventKind kind) {
    return kind <= EventKind::ReleaseChannel;
  }

  /// Records a fault at `event`, which ends the run. Returns false.
  bool fail(const Event &event, std::string message, const Ring &ring,
            const char *what) {
    fault = Fault{{std::move(message), event.origin}, {}};
    if (ring.origin)
      fault->notes.push_back(
          {std::string(what) + " is declared here", ring.origin});
    return false;
  }

  /// The microbatch that last claimed the slot of `microbatch`, or -1.
  int64_t &claimant(int32_t channel, int64_t microbatch) {
    std::vector<int64_t> &slots = claimed[channel];
    return slots[microbatch % int64_t(slots.size())];
  }

  const Machine &machine;
  std::vector<std::vector<Message>> messages; ///< Per channel.
  /// Per channel and slot: the microbatch that claimed it last, or -1.
  std::vector<std::vector<int64_t>> claimed;
  /// Per rank, stash and slot: the microbatch that holds it, or -1.
  std::vector<std::vector<std::vector<int64_t>>> holders;
  std::vector<size_t> next;  ///< Per rank: its next event.
  std::vector<size_t> stops; ///< Per rank: where it stops, to choose or to end.
  /// What a rank that chooses has run.
  struct Choice {
    explicit Choice(const RankEvents &rank)
        : next(rank.isReadyFirst() ? rank.rows.back().lane + 1 : 0),
          done(rank.rows.size()), left(rank.rows.size()) {
      for (size_t row = rank.rows.size(); row-- > 0;)
        next[rank.rows[row].lane] = row;
    }
    std::vector<size_t> next; ///< Per lane: its next row.
    std::vector<bool> done;   ///< Per row.
    size_t left;
  };
  std::vector<Choice> choices; ///< Per rank.
  /// Per sum or gather, by microbatch: the part of each of its ranks.
  std::vector<std::map<int64_t, std::vector<Part>>> parts;
  std::vector<Part> &partsOf(const Event &event) {
    return parts[event.object]
        .try_emplace(event.microbatch, machine.sums[event.object].ranks.size(),
                     Part::Missing)
        .first->second;
  }
  std::optional<Fault> fault;
};

} // namespace stagewright::rank

#endif // STAGEWRIGHT_LIB_DIALECT_RANK_TRANSFORMS_MACHINERUNNER_H
