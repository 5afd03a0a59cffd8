//===- StreamPlan.cpp - a step as work on streams -------------------------===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Planning.h"

#include "stagewright/Runtime/Error.h"

namespace stagewright::runtime::cuda {

void Planning::makeStreams() {
  auto make = [&](StreamUse use) {
    plan.streams.push_back(use);
    return int32_t(plan.streams.size() - 1);
  };
  for (size_t r = 0; r < programs.size(); ++r)
    if (options.local[r])
      computing[r] = make({int64_t(r)});
  for (size_t c = 0; c < channels.size(); ++c) {
    const Channel &channel = manifest.channels[c];
    size_t slots = size_t(memory.layouts[channel.to].channels[c].slots);
    channels[c].sent.resize(slots, none);
    channels[c].freed.resize(slots, none);
    channels[c].moved.resize(slots, none);
    if (memory.routes[c] == Route::Copy && options.local[channel.from])
      channels[c].stream = make({channel.from, int64_t(c)});
    if (memory.routes[c] != Route::Network)
      continue;
    for (int64_t rank : {channel.from, channel.to})
      if (options.local[rank] && messages[rank] < 0) {
        messages[rank] = make({rank, -1, true});
        plan.concurrentTransfers = 1;
      }
  }
  for (const Collective &collective : manifest.collectives)
    for (int64_t rank : ranksHere(collective))
      if (messages[rank] < 0) {
        messages[rank] = make({rank, -1, true});
        plan.concurrentTransfers = 1;
      }
}

/// Makes the copy streams of ranks that have stashes on their hosts.
void Planning::makeCopyStreams() {
  for (size_t r = 0; r < programs.size(); ++r)
    if (options.local[r] && memory.layouts[r].host > 0)
      for (int32_t *stream : {&copies[r].leaving, &copies[r].coming}) {
        plan.streams.push_back({int64_t(r), -1, false, true});
        *stream = int32_t(plan.streams.size() - 1);
      }
}

/// The ranks of this process that take part in a collective.
std::vector<int64_t> Planning::ranksHere(const Collective &collective) const {
  std::vector<int64_t> found;
  for (const Bucket &bucket : collective.buckets)
    if (options.local[bucket.rank])
      found.push_back(bucket.rank);
  return found;
}

void Planning::fork() {
  size_t start = none;
  record(0, start);
  for (size_t s = 1; s < plan.streams.size(); ++s)
    wait(int32_t(s), start);
}

void Planning::join() {
  for (size_t s = 1; s < plan.streams.size(); ++s) {
    size_t end = none;
    record(int32_t(s), end);
    wait(0, end);
  }
}

/// Begins the profiler range of a rank's current action. If a rank waits in the
/// middle of an action, others go on; so the range begins again when the action
/// continues. Profilers assign what is enqueued to the last range begun.
void Planning::show(int32_t rank) {
  if (openRank == rank)
    return;
  hide();
  add(Operation::Begin, computing[rank], open[rank].command);
  open[rank].shown = true;
  openRank = rank;
}

void Planning::hide() {
  if (openRank >= 0)
    add(Operation::End, computing[openRank], 0);
  openRank = -1;
}

void Planning::beginAction(int32_t rank, size_t number,
                           const Command &command) {
  open[rank].command = number;
  open[rank].shown = false;
  if (!options.actions)
    return;
  open[rank].action = plan.spans.size();
  open[rank].stamped = false;
  plan.spans.push_back({Span::Action, rank, command.id, command.m,
                        int32_t(command.bytes), 0, 0});
}

void Planning::endAction(int32_t rank) {
  Open &it = open[rank];
  if (it.action != none) {
    Span &span = plan.spans[it.action];
    if (!it.stamped)
      span.first = stamp(rank);
    span.last = stamp(rank);
    it.stamped = true;
    it.action = none;
  }
  if (!it.shown)
    show(rank);
  if (openRank == rank)
    hide();
  it.command = none;
}

void Planning::receive(int32_t rank, const Command &command) {
  ChannelEvents &events = channels[command.id];
  size_t slot = slotOf(command.id, command.m);
  bool handOff = memory.routes[command.id] == Route::HandOff;
  size_t before = options.actions ? stamp(rank) : 0;
  wait(computing[rank], handOff ? events.sent[slot] : events.moved[slot]);
  if (options.actions) {
    size_t after = stamp(rank);
    plan.spans.push_back(
        {Span::Received, rank, command.id, command.m, 0, before, after});
  }
}

void Planning::command(int32_t rank, size_t number) {
  const Command &it = programs[rank].commands[number];
  int32_t stream = computing[rank];
  bool channel = it.kind >= Command::Claim && it.kind <= Command::GiveBack;
  ChannelEvents *events = channel ? &channels[it.id] : nullptr;
  size_t slot = channel ? slotOf(it.id, it.m) : 0;
  bool handOff = channel && memory.routes[it.id] == Route::HandOff;
  Open &spans = open[rank];
  switch (it.kind) {
  case Command::Launch:
  case Command::Fill:
  case Command::Copy:
  case Command::Contract:
  case Command::Attend:
  case Command::Convolve:
    if (!spans.stamped) {
      plan.spans[spans.action].first = stamp(rank);
      spans.stamped = true;
    }
    spans.command == none ? hide() : show(rank);
    return add(Operation::Work, stream, number);
  case Command::Claim:
    wait(stream, handOff ? events->freed[slot] : events->moved[slot]);
    if (options.actions)
      spans.claims.emplace_back(it.id, stamp(rank));
    return;
  case Command::Send:
    record(stream, events->sent[slot]);
    if (options.actions)
      for (auto claim = spans.claims.begin();; ++claim)
        if (claim->first == it.id) {
          size_t first = claim->second;
          spans.claims.erase(claim);
          size_t last = stamp(rank);
          plan.spans.push_back({Span::Sent, rank, it.id, it.m, 0, first, last});
          return;
        }
    return;
  case Command::Receive:
    return receive(rank, it);
  case Command::GiveBack:
    return record(stream, events->freed[slot]);
  case Command::Reduce:
    record(stream, eventOf(begun, it.id, rank));
    if (options.actions)
      spans.sums[it.id] = stamp(rank);
    return;
  case Command::Await:
    wait(stream, sums.at({it.id, rank}));
    if (options.actions) {
      size_t last = stamp(rank);
      plan.spans.push_back(
          {Span::Summed, rank, it.id, 0, 0, spans.sums[it.id], last});
    }
    return;
  case Command::BeginAction:
    return beginAction(rank, number, it);
  case Command::EndAction:
    return endAction(rank);
  case Command::BeginNode:
    if (options.nodes)
      spans.node = stamp(rank);
    return;
  case Command::EndNode:
    if (options.nodes && spans.node != none) {
      size_t last = stamp(rank);
      plan.spans.push_back({Span::Node, rank, it.id, 0, 0, spans.node, last});
    }
    return;
  case Command::Offload:
  case Command::Fetch:
    return copyStash(rank, number, it);
  case Command::Fetched:
    return wait(stream, HostCopies::find(copies[rank].came,
                                         slotOfBuffer(rank, it.id, it.m)));
  case Command::Acquire:
    return wait(stream, HostCopies::find(copies[rank].vacated,
                                         slotOfBuffer(rank, it.id, it.m)));
  case Command::Release:
    return; // The rank's own stream already orders the uses of a slot.
  }
}

/// Copies a stash to the host or back, after all earlier work of the rank.
void Planning::copyStash(int32_t rank, size_t number, const Command &command) {
  HostCopies &own = copies[rank];
  bool leaves = command.kind == Command::Offload;
  HostCopies::Slot device = slotOfBuffer(rank, command.id, command.m),
                   host = slotOfBuffer(rank, command.host, command.m);
  HostCopies::Copy copy =
      leaves ? own.offload(device, host) : own.fetch(device, host);
  if (moved[computing[rank]])
    record(computing[rank], own.computed);
  moved[computing[rank]] = false;
  wait(copy.stream, own.computed);
  wait(copy.stream, copy.after);
  add(leaves ? Operation::Offload : Operation::Fetch, copy.stream, number);
  record(copy.stream, copy.done);
  copy.frees = copy.done;
}

/// A message between processes waits on both sides for everything before it in
/// the order of that side: see Order.h.
void Planning::transfer(int64_t number, int64_t m) {
  const Channel &channel = manifest.channels[number];
  ChannelEvents &events = channels[number];
  size_t slot = slotOf(number, m);
  if (memory.routes[number] == Route::Copy) {
    wait(events.stream, events.sent[slot]);
    wait(events.stream, events.freed[slot]);
    add(Operation::CopyTo, events.stream, size_t(number), m);
    record(events.stream, events.moved[slot]);
    events.latest = events.moved[slot];
    return;
  }
  for (bool sends : {true, false}) {
    int64_t rank = sends ? channel.from : channel.to;
    if (!options.local[rank])
      continue;
    follow(rank);
    addNotified(rank, sends ? Operation::SendTo : Operation::TakeFrom,
                size_t(number), m, events.moved[slot]);
  }
}

/// Orders the next message of a rank after its earlier operations.
void Planning::follow(int64_t rank) {
  record(computing[rank], turns[rank]);
  wait(messages[rank], turns[rank]);
}

/// Adds a message or sum with other processes, and an operation that notifies
/// the host of its end.
void Planning::addNotified(int64_t rank, Operation::Kind kind, size_t number,
                           int64_t m, size_t &event) {
  add(kind, messages[rank], number, m);
  record(messages[rank], event);
  add(Operation::Tell, messages[rank], ++plan.messages);
}

/// The part of a rank waits for what the rank computed before it began the sum,
/// not for what it computes during the sum: see Order.h. The parts of ranks of
/// one process are enqueued one after another. If all ranks of the sum are in
/// this process, each part also waits for all earlier copies from its device: a
/// sum that waits for its partners then blocks no copy that a partner waits
/// for.
void Planning::sum(int64_t collective) {
  const Collective &it = manifest.collectives[size_t(collective)];
  std::vector<int64_t> ranks = ranksHere(it);
  for (int64_t rank : ranks)
    wait(messages[rank], eventOf(begun, collective, rank));
  if (ranks.size() < it.buckets.size()) {
    for (int64_t rank : ranks)
      addNotified(rank, Operation::Sum, size_t(collective), 0,
                  eventOf(sums, collective, rank));
    return;
  }
  for (size_t c = 0; c < channels.size(); ++c)
    if (int64_t rank = manifest.channels[c].from; messages[rank] >= 0)
      wait(messages[rank], channels[c].latest);
  for (int64_t rank : ranks)
    add(Operation::Sum, messages[rank], size_t(collective));
  for (int64_t rank : ranks)
    record(messages[rank], eventOf(sums, collective, rank));
}

Plan Planning::run(const std::vector<OrderedCommand> &order) {
  makeStreams();
  makeCopyStreams();
  moved.assign(plan.streams.size(), true);
  if (plan.streams.empty())
    raise("this process runs no rank");
  fork();
  for (const OrderedCommand &it : order) {
    if (it.rank >= 0 && options.local[it.rank])
      command(int32_t(it.rank), it.command);
    else if (it.collective >= 0)
      sum(it.collective);
    else if (it.rank < 0)
      transfer(it.channel, it.m);
  }
  join();
  return std::move(plan);
}

Plan planStep(const Manifest &manifest, const Memory &memory,
              const std::vector<RankProgram> &programs,
              const std::vector<OrderedCommand> &order,
              const PlanOptions &options) {
  return Planning(manifest, memory, programs, options).run(order);
}

} // namespace stagewright::runtime::cuda
