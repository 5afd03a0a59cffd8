//===- Deadlocks.cpp - why a machine does not run to its end --------------===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "MachineRunner.h"
#include <utility>

using namespace stagewright::rank;

std::string MachineRunner::which(const Ring &channel, int64_t m) {
  return (channel.mixed ? "message " : "microbatch ") + std::to_string(m);
}

std::string MachineRunner::action(const Event &event) {
  if (!event.action)
    return "the end of its step";
  return std::string(1, event.action) + std::to_string(event.actionMicrobatch);
}

std::optional<Fault> MachineRunner::leftOver() const {
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
          return Fault{{"microbatch " + std::to_string(holder) + " of stash '" +
                            stash.name + "' is never released",
                        stash.origin},
                       {}};
        }
  for (size_t number = 0; number < parts.size(); ++number)
    for (const auto &[microbatch, known] : parts[number])
      if (auto left = std::find(known.begin(), known.end(), Part::Begun);
          left != known.end()) {
        const Sum &sum = machine.sums[number];
        return Fault{{"rank " +
                          std::to_string(sum.ranks[left - known.begin()]) +
                          " never awaits " + sum.describe(microbatch),
                      sum.origin},
                     {}};
      }
  return std::nullopt;
}

MachineRunner::Wait MachineRunner::waitOf(size_t rank) {
  const Event &at = machine.ranks[rank].events[next[rank]];
  std::string here =
      "rank " + std::to_string(rank) + " waits here in " + action(at);
  EventKind kind = EventKind::Reduce;
  int64_t m = at.microbatch;
  size_t other = 0;
  std::string needs;
  if (at.kind == EventKind::Await) {
    const std::vector<Part> &known = partsOf(at);
    const Sum &sum = machine.sums[at.object];
    other = sum.ranks[std::find(known.begin(), known.end(), Part::Missing) -
                      known.begin()];
    needs = here + ": " + sum.describe(m) + " needs the part of rank " +
            std::to_string(other);
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
            " by rank " + std::to_string(other);
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

/// The fault of a rank that chooses its rows and can run none of the next ones.
Fault MachineRunner::noneReady(size_t rank) {
  const RankEvents &all = machine.ranks[rank];
  Fault fault{
      {"rank " + std::to_string(rank) + " can run none of its next actions:",
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

Fault MachineRunner::stuck() {
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
    fault.error.message +=
        (member == rank ? "rank " + std::to_string(rank) + " waits for "
                        : ", which waits for ") +
        action(*wait.awaited) + " from rank " + std::to_string(wait.rank);
    fault.notes.push_back({wait.needs, wait.at->origin});
  }
  return fault;
}
