//===- Machine.cpp - runs events and explains deadlocks -------------------===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "stagewright/Dialect/Rank/Transforms/Machine.h"
#include <algorithm>
#include <limits>
#include <map>

using namespace stagewright::rank;

namespace {

/// State of one message of a channel.
enum class Message : uint8_t { None, Claimed, Sent, Held, Released };

/// State of one rank's part of a sum.
enum class Part : uint8_t { Missing, Begun, Awaited };

std::string str(int64_t number) { return std::to_string(number); }

/// What a blocked rank waits for: one event of one other rank, or, if `awaited`
/// is null, an event that never comes.
struct Wait {
  const Event *at;
  const Event *awaited;
  size_t rank;
  std::string needs;
};

/// Runs a machine, and holds its state between events.
class Runner {
public:
  explicit Runner(const Machine &machine) : machine(machine) {
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
  /// Returns true if `rank` ran any event.
  bool advance(size_t rank, size_t most,
               const std::function<void(size_t, const Event &)> &see);
  bool choose(size_t rank);
  bool canRun(size_t rank, const Row &row) const;
  bool wouldWait(const Event &event) const;
  bool isDone(size_t rank) const {
    return next[rank] == machine.ranks[rank].events.size() &&
           choices[rank].left == 0;
  }
  bool step(size_t rank, const Event &event);
  bool stepChannel(const Event &event);
  bool stepStash(size_t rank, const Event &event);
  bool stepSum(size_t rank, const Event &event);
  std::optional<Fault> leftOver() const;
  Fault stuck();
  Fault noneReady(size_t rank);
  Wait waitOf(size_t rank);

  /// Records a fault at `event`, which ends the run. Returns false.
  bool fail(const Event &event, std::string message, const Ring &ring,
            const char *what) {
    fault = Fault{{std::move(message), event.origin}, {}};
    if (ring.origin)
      fault->notes.push_back(
          {std::string(what) + " is declared here", ring.origin});
    return false;
  }

  const Machine &machine;
  /// Per channel and slot: the microbatch that claimed it last, or -1.
  int64_t &claimant(int32_t channel, int64_t microbatch) {
    std::vector<int64_t> &slots = claimed[channel];
    return slots[microbatch % int64_t(slots.size())];
  }

  std::vector<std::vector<Message>> messages; ///< Per channel.
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

std::string which(const Ring &channel, int64_t m) {
  return (channel.mixed ? "message " : "microbatch ") + str(m);
}

/// Whether events of this kind are on a channel.
bool onChannel(EventKind kind) { return kind <= EventKind::ReleaseChannel; }

std::string action(const Event &event) {
  if (!event.action)
    return "the end of its step";
  return std::string(1, event.action) + str(event.actionMicrobatch);
}

} // namespace

bool Runner::stepChannel(const Event &event) {
  const Ring &channel = machine.channels[event.object];
  std::string message =
      which(channel, event.microbatch) + " of channel '" + channel.name + "'";
  auto fails = [&](const char *why) {
    return fail(event, message + why, channel, "the channel");
  };
  if (event.microbatch < 0 || event.microbatch >= channel.messages)
    return fail(
        event, message + " does not exist; it carries " + str(channel.messages),
        channel, "the channel");
  Message &state = messages[event.object][event.microbatch];
  switch (event.kind) {
  case EventKind::Claim: {
    if (state != Message::None)
      return fails(" is claimed twice");
    int64_t &before = claimant(event.object, event.microbatch);
    if (before >= 0 && messages[event.object][before] != Message::Released)
      return false;
    before = event.microbatch;
    state = Message::Claimed;
    return true;
  }
  case EventKind::Send:
    if (state != Message::Claimed)
      return fails(state == Message::None ? " is sent but was not claimed"
                                          : " is sent twice");
    state = Message::Sent;
    return true;
  case EventKind::Recv:
    if (state > Message::Sent)
      return fails(" is received twice");
    if (state != Message::Sent)
      return false;
    state = Message::Held;
    return true;
  case EventKind::Received:
    return state == Message::Held ||
           fails(state == Message::Released ? " is read after its release"
                                            : " is read but was not received");
  default:
    if (state != Message::Held)
      return fails(state == Message::Released
                       ? " is released twice"
                       : " is released but was not received");
    state = Message::Released;
    return true;
  }
}

bool Runner::stepStash(size_t rank, const Event &event) {
  const Ring &stash = machine.ranks[rank].stashes[event.object];
  std::string message =
      "microbatch " + str(event.microbatch) + " of stash '" + stash.name + "'";
  if (event.microbatch < 0 || event.microbatch >= stash.messages)
    return fail(event,
                message + " does not exist; there are " + str(stash.messages),
                stash, "the stash");
  int64_t &holder =
      holders[rank][event.object]
             [event.microbatch % std::max<int64_t>(stash.slots, 1)];
  if (event.kind == EventKind::Acquire) {
    if (holder >= 0)
      return fail(event,
                  message + " overwrites microbatch " + str(holder) +
                      ", which is not released; the depth is " +
                      str(stash.slots),
                  stash, "the stash");
    holder = event.microbatch;
    return true;
  }
  if (holder != event.microbatch)
    return fail(event,
                message + (event.kind == EventKind::Use
                               ? " is read while it is not held"
                               : " is released while it is not held"),
                stash, "the stash");
  if (event.kind == EventKind::Release)
    holder = -1;
  return true;
}

bool Runner::stepSum(size_t rank, const Event &event) {
  const Sum &sum = machine.sums[event.object];
  std::vector<Part> &known = partsOf(event);
  Part &own =
      known[std::find(sum.ranks.begin(), sum.ranks.end(), int64_t(rank)) -
            sum.ranks.begin()];
  if (event.kind == EventKind::Reduce) {
    own = Part::Begun;
    return true;
  }
  if (own != Part::Begun) {
    fault = Fault{{sum.describe(event.microbatch) + " is awaited " +
                       (own == Part::Missing ? "before it begins" : "twice"),
                   event.origin},
                  {}};
    return false;
  }
  if (std::find(known.begin(), known.end(), Part::Missing) != known.end())
    return false;
  own = Part::Awaited;
  return true;
}

/// Whether `event`, a claim or a receive, would wait now.
bool Runner::wouldWait(const Event &event) const {
  const std::vector<Message> &ring = messages[event.object];
  if (event.microbatch < 0 || event.microbatch >= int64_t(ring.size()))
    return false; // An error when it runs.
  if (event.kind == EventKind::Recv)
    return ring[event.microbatch] < Message::Sent;
  if (event.kind != EventKind::Claim)
    return false;
  const std::vector<int64_t> &slots = claimed[event.object];
  int64_t before = slots[event.microbatch % int64_t(slots.size())];
  return before >= 0 && before != event.microbatch &&
         ring[before] != Message::Released;
}

/// Whether all rows that `row` follows are done and none of its events waits.
bool Runner::canRun(size_t rank, const Row &row) const {
  const std::vector<Event> &events = machine.ranks[rank].events;
  return std::all_of(
             row.after.begin(), row.after.end(),
             [&](size_t before) { return bool(choices[rank].done[before]); }) &&
         std::none_of(events.begin() + std::ptrdiff_t(row.begin),
                      events.begin() + std::ptrdiff_t(row.end),
                      [&](const Event &event) {
                        return onChannel(event.kind) && wouldWait(event);
                      });
}

/// Begins the first row that can run, or goes on behind the last one. Returns
/// false if none can.
bool Runner::choose(size_t rank) {
  const RankEvents &all = machine.ranks[rank];
  Choice &choice = choices[rank];
  if (choice.left == 0) {
    next[rank] = all.rows.back().end;
    stops[rank] = all.events.size();
    return true;
  }
  for (size_t lane = 0; lane < choice.next.size(); ++lane) {
    size_t number = choice.next[lane];
    if (number == all.rows.size() || all.rows[number].lane != int64_t(lane) ||
        !canRun(rank, all.rows[number]))
      continue;
    ++choice.next[lane];
    --choice.left;
    // No other row of the rank can see this before the row has ended.
    choice.done[number] = true;
    next[rank] = all.rows[number].begin;
    stops[rank] = all.rows[number].end;
    return true;
  }
  return false;
}

bool Runner::step(size_t rank, const Event &event) {
  if (event.kind == EventKind::Call)
    return true;
  if (event.kind >= EventKind::Reduce)
    return stepSum(rank, event);
  return onChannel(event.kind) ? stepChannel(event) : stepStash(rank, event);
}

bool Runner::advance(size_t rank, size_t most,
                     const std::function<void(size_t, const Event &)> &see) {
  const RankEvents &all = machine.ranks[rank];
  size_t ran = 0;
  bool moved = false;
  while (ran < most && !isDone(rank)) {
    if (next[rank] == stops[rank]) {
      if (!choose(rank))
        break;
      moved = true;
      continue;
    }
    const Event &event = all.events[next[rank]];
    if (!step(rank, event)) {
      bool inside = all.isReadyFirst() &&
                    next[rank] >= all.rows.front().begin &&
                    next[rank] < all.rows.back().end;
      if (inside && !fault)
        fault = Fault{{"rank " + str(rank) + " waits inside " + action(event) +
                           ", which it chose because it would not wait; "
                           "actions that exchange values with other ranks "
                           "while they run need a fixed order",
                       event.origin},
                      {}};
      break;
    }
    if (see)
      see(rank, event);
    ++next[rank];
    ++ran;
  }
  return moved || ran > 0;
}

std::optional<Fault>
Runner::run(size_t most,
            const std::function<void(size_t, const Event &)> &see) {
  for (bool moved = true; moved;) {
    moved = false;
    for (size_t rank = 0; rank < machine.ranks.size(); ++rank) {
      moved |= advance(rank, most, see);
      if (fault)
        return fault;
    }
  }
  for (size_t rank = 0; rank < machine.ranks.size(); ++rank)
    if (!isDone(rank))
      return stuck();
  return leftOver();
}

std::optional<Fault> Runner::leftOver() const {
  for (size_t number = 0; number < machine.channels.size(); ++number)
    for (int64_t m = 0; m < machine.channels[number].messages; ++m) {
      const char *why = nullptr;
      switch (messages[number][m]) {
      case Message::None:
        if (machine.channels[number].sparse)
          continue;
        why = " is never sent";
        break;
      case Message::Claimed:
        why = " is claimed but never sent";
        break;
      case Message::Sent:
        why = " is sent but never received";
        break;
      case Message::Held:
        why = " is received but never released";
        break;
      case Message::Released:
        continue;
      }
      const Ring &channel = machine.channels[number];
      return Fault{
          {which(channel, m) + " of channel '" + channel.name + "'" + why,
           channel.origin},
          {}};
    }
  for (size_t rank = 0; rank < machine.ranks.size(); ++rank)
    for (size_t number = 0; number < holders[rank].size(); ++number)
      for (int64_t holder : holders[rank][number])
        if (holder >= 0) {
          const Ring &stash = machine.ranks[rank].stashes[number];
          return Fault{{"microbatch " + str(holder) + " of stash '" +
                            stash.name + "' is never released",
                        stash.origin},
                       {}};
        }
  for (size_t number = 0; number < parts.size(); ++number)
    for (const auto &[microbatch, known] : parts[number])
      if (auto left = std::find(known.begin(), known.end(), Part::Begun);
          left != known.end()) {
        const Sum &sum = machine.sums[number];
        return Fault{{"rank " + str(sum.ranks[left - known.begin()]) +
                          " never awaits " + sum.describe(microbatch),
                      sum.origin},
                     {}};
      }
  return std::nullopt;
}

Wait Runner::waitOf(size_t rank) {
  const Event &at = machine.ranks[rank].events[next[rank]];
  std::string here = "rank " + str(rank) + " waits here in " + action(at);
  EventKind kind = EventKind::Reduce;
  int64_t m = at.microbatch;
  size_t other = 0;
  std::string needs;
  if (at.kind == EventKind::Await) {
    const std::vector<Part> &known = partsOf(at);
    const Sum &sum = machine.sums[at.object];
    other = sum.ranks[std::find(known.begin(), known.end(), Part::Missing) -
                      known.begin()];
    needs =
        here + ": " + sum.describe(m) + " needs the part of rank " + str(other);
  } else {
    const Ring &channel = machine.channels[at.object];
    bool claims = at.kind == EventKind::Claim;
    other = claims ? channel.to : channel.from;
    kind = claims ? EventKind::ReleaseChannel : EventKind::Send;
    if (claims)
      m = claimant(at.object, at.microbatch);
    needs = here + ": its " + (claims ? "claim" : "receive") + " of " +
            which(channel, at.microbatch) + " on channel '" + channel.name +
            "' needs the " +
            (claims ? "release of " + which(channel, m) : "send") +
            " by rank " + str(other);
  }
  const Event *awaited = nullptr;
  if (other < machine.ranks.size()) {
    const std::vector<Event> &events = machine.ranks[other].events;
    for (size_t i = next[other]; i < events.size() && !awaited; ++i)
      if (events[i].kind == kind && events[i].object == at.object &&
          events[i].microbatch == m)
        awaited = &events[i];
  }
  return {&at, awaited, other, needs};
}

/// A rank that chooses, and whose next rows all wait.
Fault Runner::noneReady(size_t rank) {
  const RankEvents &all = machine.ranks[rank];
  Fault fault{{"rank " + str(rank) + " can run none of its next actions:",
               all.rows.front().origin},
              {}};
  const char *separator = " ";
  for (size_t lane = 0; lane < choices[rank].next.size(); ++lane) {
    size_t number = choices[rank].next[lane];
    if (number == all.rows.size() || all.rows[number].lane != int64_t(lane))
      continue;
    const Row &row = all.rows[number];
    fault.error.message += std::exchange(separator, ", ") + row.name;
    for (size_t before : row.after)
      if (!choices[rank].done[before])
        fault.error.message += " (follows " + all.rows[before].name + ")";
    for (size_t i = row.begin; i < row.end; ++i)
      if (const Event &event = all.events[i];
          onChannel(event.kind) && wouldWait(event))
        fault.notes.push_back(
            {row.name +
                 (event.kind == EventKind::Claim ? " waits for a free slot for "
                                                 : " waits for ") +
                 which(machine.channels[event.object], event.microbatch) +
                 " of channel '" + machine.channels[event.object].name + "'",
             event.origin});
  }
  return fault;
}

Fault Runner::stuck() {
  size_t rank = 0;
  while (isDone(rank))
    ++rank;
  for (size_t other = 0; other < machine.ranks.size(); ++other)
    if (next[other] == stops[other] && !isDone(other))
      return noneReady(other);
  std::vector<size_t> path;
  while (std::find(path.begin(), path.end(), rank) == path.end()) {
    path.push_back(rank);
    Wait wait = waitOf(rank);
    if (!wait.awaited)
      return Fault{{wait.needs + ", which never comes", wait.at->origin}, {}};
    rank = wait.rank;
  }
  path.erase(path.begin(), std::find(path.begin(), path.end(), rank));
  Fault fault{{"schedule deadlocks: ", waitOf(rank).at->origin}, {}};
  for (size_t member : path) {
    Wait wait = waitOf(member);
    fault.error.message += (member == rank ? "rank " + str(rank) + " waits for "
                                           : ", which waits for ") +
                           action(*wait.awaited) + " from rank " +
                           str(wait.rank);
    fault.notes.push_back({wait.needs, wait.at->origin});
  }
  return fault;
}

std::optional<Fault> stagewright::rank::run(const Machine &machine) {
  return Runner(machine).run();
}

std::optional<Fault> stagewright::rank::runInStep(
    const Machine &machine,
    const std::function<void(size_t, const Event &)> &see) {
  return Runner(machine).run(/*most=*/1, see);
}
