//===- Machine.cpp - runs events ------------------------------------------===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "MachineRunner.h"

using namespace stagewright::rank;

bool MachineRunner::stepChannel(const Event &event) {
  const Ring &channel = machine.channels[event.object];
  std::string message =
      which(channel, event.microbatch) + " of channel '" + channel.name + "'";
  auto fails = [&](const char *why) {
    return fail(event, message + why, channel, "the channel");
  };
  if (event.microbatch < 0 || event.microbatch >= channel.messages)
    return fail(event,
                message + " does not exist; it carries " +
                    std::to_string(channel.messages),
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

bool MachineRunner::stepStash(size_t rank, const Event &event) {
  const Ring &stash = machine.ranks[rank].stashes[event.object];
  std::string message = "microbatch " + std::to_string(event.microbatch) +
                        " of stash '" + stash.name + "'";
  if (event.microbatch < 0 || event.microbatch >= stash.messages)
    return fail(event,
                message + " does not exist; there are " +
                    std::to_string(stash.messages),
                stash, "the stash");
  int64_t &holder =
      holders[rank][event.object]
             [event.microbatch % std::max<int64_t>(stash.slots, 1)];
  if (event.kind == EventKind::Acquire) {
    if (holder >= 0)
      return fail(event,
                  message + " overwrites microbatch " + std::to_string(holder) +
                      ", which is not released; the depth is " +
                      std::to_string(stash.slots),
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

bool MachineRunner::stepSum(size_t rank, const Event &event) {
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
bool MachineRunner::wouldWait(const Event &event) const {
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
bool MachineRunner::canRun(size_t rank, const Row &row) const {
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

/// Begins the first row that can run. If all rows have run, continues with the
/// events after the last one. Returns false if rows are left and none can run.
bool MachineRunner::choose(size_t rank) {
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

bool MachineRunner::step(size_t rank, const Event &event) {
  if (event.kind == EventKind::Call)
    return true;
  if (event.kind >= EventKind::Reduce)
    return stepSum(rank, event);
  return onChannel(event.kind) ? stepChannel(event) : stepStash(rank, event);
}

bool MachineRunner::advance(
    size_t rank, size_t most,
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
        fault = Fault{{"rank " + std::to_string(rank) + " waits inside " +
                           action(event) +
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
MachineRunner::run(size_t most,
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

std::optional<Fault> stagewright::rank::run(const Machine &machine) {
  return MachineRunner(machine).run();
}

std::optional<Fault> stagewright::rank::runInStep(
    const Machine &machine,
    const std::function<void(size_t, const Event &)> &see) {
  return MachineRunner(machine).run(/*most=*/1, see);
}
