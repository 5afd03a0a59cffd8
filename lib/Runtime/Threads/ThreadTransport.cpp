//===- ThreadTransport.cpp - channels between threads ---------------------===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Threads/ThreadTransport.h"

#include "Recording/Recorder.h"
#include "Threads/Processors.h"
#include "stagewright/Runtime/Error.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <thread>

namespace stagewright::runtime {

ThreadTransport::ThreadTransport(const Manifest &manifest,
                                 const std::vector<Layout> &layouts,
                                 const std::vector<std::byte *> &arenas,
                                 int64_t microbatches, bool poison, int spins)
    : Transport(manifest.ranks.size()), manifest(manifest),
      microbatches(microbatches), poison(poison), spins(spins),
      waiters(manifest.ranks.size()), choices(manifest.ranks.size()),
      open(manifest.ranks.size()) {
  for (size_t rank = 0; rank < choices.size(); ++rank)
    if (!manifest.ranks[rank].rows.empty()) // No allocation during a step.
      choices[rank].reserve(size_t(manifest.ranks[rank].rows.back().lane) + 1);
  for (size_t i = 0; i < manifest.channels.size(); ++i) {
    int64_t to = manifest.channels[i].to;
    const auto &place = layouts[to].channels[i];
    Ring ring;
    ring.base = arenas[to] + place.offset;
    ring.stride = place.stride;
    ring.count = place.slots;
    ring.slots = std::make_unique<Slot[]>(place.slots);
    rings.push_back(std::move(ring));
  }
  for (const Collective &described : manifest.collectives) {
    auto &made = sums.emplace_back();
    for (int i = 0; i < (described.overlaps() ? 2 : 1); ++i)
      made[i] = std::make_unique<ThreadSum>(described, layouts, arenas);
  }
  generations.assign(manifest.ranks.size(),
                     std::vector<int64_t>(sums.size(), 0));
  for (std::vector<int64_t> &begun : open)
    begun.reserve(sums.size());
}

void ThreadTransport::reset() {
  forgetSent();
  for (Ring &ring : rings)
    for (int64_t i = 0; i < ring.count; ++i)
      ring.slots[i].state.store(freeSlot, std::memory_order_relaxed);
  // After a failure carried sums are lost, too.
  bool all = failed.load();
  for (size_t i = 0; i < sums.size(); ++i)
    for (auto &sum : sums[i])
      if (sum && (all || !manifest.collectives[i].carried))
        sum->reset();
  for (std::vector<int64_t> &begun : open)
    std::erase_if(begun, [&](int64_t number) {
      return all || !manifest.collectives[size_t(number)].carried;
    });
  if (all)
    generations.assign(open.size(), std::vector<int64_t>(sums.size(), 0));
  for (Waiter &waiter : waiters)
    waiter.asleep = waiter.finished = false;
  failed.store(false, std::memory_order_release);
  error.clear();
}

ThreadTransport::Slot &ThreadTransport::slotOf(int64_t rank, int64_t channel,
                                               int64_t m, bool sender) {
  manifest.channelAt(rank, channel, sender, m, microbatches);
  Ring &ring = rings[channel];
  return ring.slots[m % ring.count];
}

std::byte *ThreadTransport::addressOf(int64_t channel, int64_t m) const {
  const Ring &ring = rings[channel];
  return ring.base + m % ring.count * ring.stride;
}

void ThreadTransport::require(const Slot &slot, int64_t channel, int64_t m,
                              State wanted, const char *what) const {
  if (slot.state.load(std::memory_order_relaxed) != wanted)
    raise(what, " ", manifest.channels[channel].describe(m), " out of order");
}

void ThreadTransport::ring(int64_t rank) {
  Waiter &waiter = waiters[rank];
  if (!waiter.listening.load())
    return;
  waiter.bell.fetch_add(1);
  waiter.bell.notify_all();
}

void ThreadTransport::ringAll() {
  for (Waiter &waiter : waiters) {
    waiter.bell.fetch_add(1);
    waiter.bell.notify_all();
  }
}

void ThreadTransport::ringRanksOf(int64_t collective) {
  for (const Bucket &bucket : manifest.collectives[collective].buckets)
    ring(bucket.rank);
}

/// While a rank waits, it adds blocks of the sums that it has begun.
void ThreadTransport::help(int64_t rank, std::span<const Wish> wishes) {
  for (int64_t number : open[rank]) {
    ThreadSum &sum = sumOf(rank, number);
    if (!sum.isReady())
      continue;
    while (std::ranges::none_of(wishes, &Wish::isTrue) && sum.addBlock())
      if (sum.added.load() == sum.blocks())
        ringRanksOf(number);
  }
}

void ThreadTransport::waitForOne(int64_t rank, std::span<const Wish> wishes) {
  auto come = [&] { return std::ranges::any_of(wishes, &Wish::isTrue); };
  if (come())
    return checkFailed();
  RankPosition &where = place(rank);
  const Wish &wish = wishes.front();
  if (wish.collective >= 0)
    where.wait(RankPosition::ForSum, wish.collective, 0);
  else
    where.wait(wish.wanted == freeSlot ? RankPosition::ToSend
                                       : RankPosition::ToReceive,
               wish.channel, wish.m);
  spin(spins, [&] {
    help(rank, wishes);
    return come() || failed.load(std::memory_order_relaxed);
  });
  if (come())
    where.endWait();
  checkFailed();
  if (come())
    return;
  Waiter &me = waiters[rank];
  me.listening.store(true);
  // The other side changes the state, then reads `listening`; this side sets
  // `listening`, then reads the state. So it sees the change or is woken.
  while (true) {
    uint32_t before = me.bell.load();
    help(rank, wishes);
    if (come() || failed.load())
      break;
    {
      std::lock_guard lock(mutex);
      me.asleep = true;
      me.wishes = wishes;
      if (stuck())
        failStuck();
    }
    if (!failed.load())
      me.bell.wait(before);
    std::lock_guard lock(mutex);
    me.asleep = false;
  }
  me.listening.store(false);
  checkFailed();
  where.endWait();
}

//===----------------------------------------------------------------------===//
// Sums over ranks
//===----------------------------------------------------------------------===//

void ThreadTransport::allReduce(int64_t rank, int64_t collective) {
  const Collective &described = manifest.collective(collective);
  described.placeOf(rank);
  checkFailed();
  if (std::find(open[rank].begin(), open[rank].end(), collective) !=
      open[rank].end())
    raise(described.describe(), " begins twice");
  open[rank].push_back(collective);
  count(rank, described);
  ThreadSum &sum = sumOf(rank, collective);
  // Sequentially consistent, as in send.
  if (sum.begun.fetch_add(1) + 1 == sum.ranks())
    ringRanksOf(collective);
}

void ThreadTransport::awaitReduced(int64_t rank, int64_t collective) {
  const Collective &described = manifest.collective(collective);
  auto begun = std::find(open[rank].begin(), open[rank].end(), collective);
  if (begun == open[rank].end()) {
    if (described.carried)
      return;
    raise(described.describe(), " is awaited before it begins");
  }
  ThreadSum &sum = sumOf(rank, collective);
  waitFor(rank, {&sum.begun, sum.ranks(), 0, 0, collective});
  waitFor(rank, {&sum.added, sum.blocks(), 0, 0, collective});
  open[rank].erase(begun);
  if (described.overlaps())
    leave(rank, collective);
}

/// The last rank that leaves a carried sum or a gather resets it for the one
/// after the next, which begins only after all ranks have begun the next one.
void ThreadTransport::leave(int64_t rank, int64_t collective) {
  ThreadSum &sum = sumOf(rank, collective);
  ++generations[size_t(rank)][size_t(collective)];
  if (sum.left.fetch_add(1) + 1 == sum.ranks())
    sum.reset();
}

void ThreadTransport::settle() {
  for (size_t rank = 0; rank < open.size(); ++rank) {
    for (int64_t number : open[rank]) {
      while (sumOf(int64_t(rank), number).addBlock())
        ;
      leave(int64_t(rank), number);
    }
    open[rank].clear();
  }
}

//===----------------------------------------------------------------------===//
// Channels
//===----------------------------------------------------------------------===//

std::byte *ThreadTransport::claim(int64_t rank, int64_t channel, int64_t m) {
  Slot &slot = slotOf(rank, channel, m, true);
  // An error: the slot has this rank's own claim, or its send of the same
  // message.
  State now = slot.state.load(std::memory_order_acquire);
  if ((now & 3) == claimed || now == state(m, published))
    raise("claim of ", manifest.channels[channel].describe(m), " out of order");
  waitFor(rank, {&slot.state, freeSlot, channel, m});
  slot.state.store(state(m, claimed), std::memory_order_relaxed);
  return addressOf(channel, m);
}

void ThreadTransport::send(int64_t rank, int64_t channel, int64_t m) {
  Slot &slot = slotOf(rank, channel, m, true);
  checkFailed();
  require(slot, channel, m, state(m, claimed), "send of");
  if (hop > 0)
    slot.arrives = now() + hop;
  // Sequentially consistent: `listening` is read after it (see waitForOne).
  slot.state.store(state(m, published));
  count(rank, manifest.channels[channel]);
  ring(manifest.channels[channel].to);
}

std::byte *ThreadTransport::held(int64_t rank, int64_t channel, int64_t m) {
  Slot &slot = slotOf(rank, channel, m, false);
  // Only the receiver itself leaves this state.
  if (slot.state.load(std::memory_order_relaxed) != state(m, received))
    return nullptr;
  return addressOf(channel, m);
}

std::byte *ThreadTransport::recv(int64_t rank, int64_t channel, int64_t m) {
  Slot &slot = slotOf(rank, channel, m, false);
  State now = slot.state.load(std::memory_order_acquire);
  if ((now & 3) == received)
    raise("receive of ", manifest.channels[channel].describe(m),
          " out of order: its slot is still held");
  waitFor(rank, {&slot.state, state(m, published), channel, m});
  while (!isReady(rank, {channel, m, false}))
    sleepUntilSome(rank, std::array{Need{channel, m, false}});
  slot.state.store(state(m, received), std::memory_order_relaxed);
  return addressOf(channel, m);
}

void ThreadTransport::release(int64_t rank, int64_t channel, int64_t m) {
  Slot &slot = slotOf(rank, channel, m, false);
  checkFailed();
  require(slot, channel, m, state(m, received), "release of");
  // Before the slot is freed, because then it belongs to the sender.
  if (poison)
    std::memset(addressOf(channel, m), 0xff, rings[channel].stride);
  slot.state.store(freeSlot); // as in send
  ring(manifest.channels[channel].from);
}

ThreadTransport::Wish ThreadTransport::wishFor(int64_t rank, const Need &need) {
  Slot &slot = slotOf(rank, need.channel, need.m, need.sends);
  return {&slot.state, need.sends ? State(freeSlot) : state(need.m, published),
          need.channel, need.m};
}

bool ThreadTransport::isReady(int64_t rank, const Need &need) {
  Slot &slot = slotOf(rank, need.channel, need.m, need.sends);
  return wishFor(rank, need).isTrue() &&
         (hop == 0 || need.sends || now() >= slot.arrives);
}

/// With delayed messages: sleeps for a while if some message was sent and has
/// not arrived. Returns false if there is no such message; then the rank has to
/// wait.
bool ThreadTransport::sleepUntilSome(int64_t rank,
                                     std::span<const Need> needs) {
  constexpr int64_t longest = 200'000; // Others may become ready meanwhile.
  int64_t earliest = INT64_MAX;
  for (const Need &need : needs)
    if (wishFor(rank, need).isTrue() && !need.sends)
      earliest = std::min(
          earliest, slotOf(rank, need.channel, need.m, false).arrives - now());
  if (hop == 0 || earliest == INT64_MAX)
    return false;
  std::this_thread::sleep_for(
      std::chrono::nanoseconds(std::clamp<int64_t>(earliest, 0, longest)));
  checkFailed();
  return true;
}

void ThreadTransport::waitForAny(int64_t rank, std::span<const Need> needs) {
  std::vector<Wish> &wishes = choices[rank];
  wishes.clear();
  for (const Need &need : needs)
    wishes.push_back(wishFor(rank, need));
  while (std::ranges::none_of(
      needs, [&](const Need &need) { return isReady(rank, need); }))
    if (!sleepUntilSome(rank, needs))
      waitForOne(rank, wishes);
}

} // namespace stagewright::runtime
