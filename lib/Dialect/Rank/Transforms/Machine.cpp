//===- Machine.cpp - runs events and explains deadlocks -------------------===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "stagewright/Dialect/Rank/Transforms/Machine.h"
#include <algorithm>
#include <limits>

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
    for (const Sum &sum : machine.sums)
      parts.emplace_back(sum.ranks.size(), Part::Missing);
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
  bool step(size_t rank, const Event &event);
  bool stepChannel(const Event &event);
  bool stepStash(size_t rank, const Event &event);
  bool stepSum(size_t rank, const Event &event);
  std::optional<Fault> leftOver() const;
  Fault stuck();
  Wait waitOf(size_t rank);

  /// Records a fault at `event`, which ends the run. Returns false.
  bool fail(const Event &event, std::string message, const Ring &ring,
            const char *what) {
    fault = Fault{{std::move(message), event.origin}, {}};
    if (ring.origin)
      fault->notes.push_back({std::string(what) + " stands here", ring.origin});
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
  std::vector<size_t> next;             ///< Per rank: its next event.
  std::vector<std::vector<Part>> parts; ///< Per sum and rank of it.
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
  std::vector<Part> &known = parts[event.object];
  Part &own =
      known[std::find(sum.ranks.begin(), sum.ranks.end(), int64_t(rank)) -
            sum.ranks.begin()];
  if (event.kind == EventKind::Reduce) {
    own = Part::Begun;
    return true;
  }
  if (own != Part::Begun) {
    fault = Fault{{"sum '" + sum.name + "' is awaited " +
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

bool Runner::step(size_t rank, const Event &event) {
  if (event.kind == EventKind::Call)
    return true;
  if (event.kind >= EventKind::Reduce)
    return stepSum(rank, event);
  return onChannel(event.kind) ? stepChannel(event) : stepStash(rank, event);
}

bool Runner::advance(size_t rank, size_t most,
                     const std::function<void(size_t, const Event &)> &see) {
  const std::vector<Event> &events = machine.ranks[rank].events;
  size_t before = next[rank];
  while (next[rank] < events.size() && next[rank] - before < most &&
         step(rank, events[next[rank]])) {
    if (see)
      see(rank, events[next[rank]]);
    ++next[rank];
  }
  return next[rank] != before;
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
    if (next[rank] < machine.ranks[rank].events.size())
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
    for (size_t i = 0; i < parts[number].size(); ++i)
      if (parts[number][i] == Part::Begun) {
        const Sum &sum = machine.sums[number];
        return Fault{{"rank " + str(sum.ranks[i]) + " never awaits sum '" +
                          sum.name + "'",
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
    const std::vector<Part> &known = parts[at.object];
    const Sum &sum = machine.sums[at.object];
    other = sum.ranks[std::find(known.begin(), known.end(), Part::Missing) -
                      known.begin()];
    needs =
        here + ": sum '" + sum.name + "' needs the part of rank " + str(other);
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

Fault Runner::stuck() {
  size_t rank = 0;
  while (next[rank] == machine.ranks[rank].events.size())
    ++rank;
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
