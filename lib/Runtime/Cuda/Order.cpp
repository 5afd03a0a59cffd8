//===- Order.cpp - one total order of a step's commands -------------------===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Order.h"

#include "stagewright/Runtime/Error.h"

#include <algorithm>
#include <deque>

namespace stagewright::runtime::cuda {

namespace {

constexpr int64_t none = -1;

/// Which messages hold the slots of a channel at both ends. A hand-off has
/// one ring: only `receiving` and `arrived` are used.
struct Rings {
  std::vector<int64_t> sending;   ///< by sender's slot: the message
  std::vector<int64_t> receiving; ///< by receiver's slot: the message
  std::vector<bool> arrived;      ///< by receiver's slot
  std::deque<int64_t> queue;      ///< messages sent but not transferred
};

class Ordering {
public:
  Ordering(const Manifest &manifest, const Memory &memory,
           const std::vector<RankProgram> &programs)
      : manifest(manifest), memory(memory), programs(programs),
        next(programs.size(), 0) {
    for (size_t c = 0; c < manifest.channels.size(); ++c) {
      size_t slots =
          size_t(memory.layouts[manifest.channels[c].to].channels[c].slots);
      rings.push_back({std::vector<int64_t>(slots, none),
                       std::vector<int64_t>(slots, none),
                       std::vector<bool>(slots, false),
                       {}});
    }
    for (const Collective &sum : manifest.collectives) {
      begun.emplace_back(sum.buckets.size(), 0);
      awaited.emplace_back(sum.buckets.size(), 0);
    }
  }

  std::vector<OrderedCommand> run();

private:
  const Command &at(size_t rank) const {
    return programs[rank].commands[next[rank]];
  }
  bool over(size_t rank) const {
    return next[rank] == programs[rank].commands.size();
  }
  size_t slotOf(int64_t channel, int64_t m) const {
    return size_t(m) % rings[channel].receiving.size();
  }
  bool step(size_t rank);
  bool turn(size_t rank);
  void transfer(int64_t channel);
  void begin(size_t rank, int64_t collective);
  size_t placeOf(size_t rank, int64_t collective) const {
    return manifest.collectives[size_t(collective)].placeOf(int64_t(rank));
  }
  /// The first rank that has not begun a collective that `rank` awaits next, or
  /// `none`.
  int64_t missing(size_t rank, int64_t collective) const {
    const std::vector<int64_t> &parts = begun[size_t(collective)];
    int64_t times = awaited[size_t(collective)][placeOf(rank, collective)];
    auto part = std::find_if(parts.begin(), parts.end(),
                             [&](int64_t own) { return own <= times; });
    return part == parts.end() ? none
                               : manifest.collectives[size_t(collective)]
                                     .buckets[size_t(part - parts.begin())]
                                     .rank;
  }
  [[noreturn]] void failStuck() const;
  std::string describeWait(size_t rank) const;

  const Manifest &manifest;
  const Memory &memory;
  const std::vector<RankProgram> &programs;
  std::vector<size_t> next; ///< by rank: first command not run
  std::vector<Rings> rings; ///< by channel
  /// By collective and its ranks: how often a rank has begun and awaited it.
  std::vector<std::vector<int64_t>> begun, awaited;
  std::vector<OrderedCommand> order;
};

void Ordering::begin(size_t rank, int64_t collective) {
  const Collective &sum = manifest.collectives[size_t(collective)];
  std::vector<int64_t> &parts = begun[size_t(collective)];
  size_t place = placeOf(rank, collective);
  bool isUnderWay = parts[place] > awaited[size_t(collective)][place];
  if (isUnderWay || (parts[place] && !sum.gathers))
    raise("rank ", rank, ": ", sum.describe(), " begins twice");
  int64_t before = *std::min_element(parts.begin(), parts.end());
  ++parts[place];
  if (*std::min_element(parts.begin(), parts.end()) > before)
    order.push_back({-1, 0, 0, 0, collective});
}

/// Transfers the sent messages of a channel while there are free slots.
void Ordering::transfer(int64_t channel) {
  Rings &ring = rings[channel];
  while (!ring.queue.empty()) {
    int64_t m = ring.queue.front();
    size_t slot = slotOf(channel, m);
    if (ring.receiving[slot] != none)
      return;
    ring.queue.pop_front();
    ring.receiving[slot] = m;
    ring.arrived[slot] = true;
    ring.sending[slot] = none;
    order.push_back({-1, 0, channel, m});
  }
}

/// Runs the next command of a rank; returns false if it must wait.
bool Ordering::step(size_t rank) {
  const Command &command = at(rank);
  bool channel =
      command.kind >= Command::Claim && command.kind <= Command::GiveBack;
  Rings *ring = channel ? &rings[command.id] : nullptr;
  size_t slot = channel ? slotOf(command.id, command.m) : 0;
  bool handOff = channel && memory.routes[command.id] == Route::HandOff;
  switch (command.kind) {
  case Command::Claim: {
    int64_t &holder = handOff ? ring->receiving[slot] : ring->sending[slot];
    if (holder != none)
      return false;
    holder = command.m;
    break;
  }
  case Command::Receive:
    if (ring->receiving[slot] != command.m || !ring->arrived[slot])
      return false;
    break;
  case Command::Await:
    if (missing(rank, command.id) != none)
      return false;
    ++awaited[size_t(command.id)][placeOf(rank, command.id)];
    break;
  default:
    break;
  }
  order.push_back({int64_t(rank), next[rank]++});
  if (command.kind == Command::Send && handOff)
    ring->arrived[slot] = true;
  if (command.kind == Command::Send && !handOff)
    ring->queue.push_back(command.m);
  if (command.kind == Command::Reduce)
    begin(rank, command.id);
  if (command.kind == Command::GiveBack) {
    ring->receiving[slot] = none;
    ring->arrived[slot] = false;
  }
  if (channel && !handOff)
    transfer(command.id);
  return true;
}

/// Runs a rank to the end of an action; returns false if no command could run.
bool Ordering::turn(size_t rank) {
  bool moved = false;
  while (!over(rank)) {
    bool ends = at(rank).kind == Command::EndAction;
    if (!step(rank))
      return moved;
    moved = true;
    if (ends)
      break;
  }
  return moved;
}

std::string Ordering::describeWait(size_t rank) const {
  const Command &command = at(rank);
  if (command.kind == Command::Await) {
    int64_t other = missing(rank, command.id);
    return "rank " + std::to_string(rank) + " waits for rank " +
           std::to_string(other) +
           (over(size_t(other)) ? ", which has ended," : "") +
           " to begin its part of " +
           manifest.collectives[size_t(command.id)].describe();
  }
  const Channel &channel = manifest.channels[command.id];
  bool sends = command.kind == Command::Claim;
  int64_t other = sends ? channel.to : channel.from;
  return "rank " + std::to_string(rank) +
         (sends ? " waits to send " : " waits for ") +
         channel.describe(command.m) + (sends ? " to rank " : " from rank ") +
         std::to_string(other) +
         (over(size_t(other)) ? ", which has ended" : "");
}

void Ordering::failStuck() const {
  std::string text = "the ranks wait for each other";
  for (size_t rank = 0; rank < programs.size(); ++rank)
    if (!over(rank))
      text += "; " + describeWait(rank);
  raise(text);
}

std::vector<OrderedCommand> Ordering::run() {
  bool left = true;
  while (left) {
    bool moved = false;
    left = false;
    for (size_t rank = 0; rank < programs.size(); ++rank) {
      moved |= turn(rank);
      left |= !over(rank);
    }
    if (left && !moved)
      failStuck();
  }
  for (size_t c = 0; c < rings.size(); ++c)
    for (int64_t m : rings[c].receiving)
      if (m != none)
        raise("channel '", manifest.channels[c].name, "' still holds ",
              manifest.channels[c].which(m), " at the end of the step");
  return std::move(order);
}

} // namespace

std::vector<OrderedCommand>
orderProgram(const Manifest &manifest, const Memory &memory,
             const std::vector<RankProgram> &programs) {
  return Ordering(manifest, memory, programs).run();
}

} // namespace stagewright::runtime::cuda
