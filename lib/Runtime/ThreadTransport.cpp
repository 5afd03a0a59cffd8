//===- ThreadTransport.cpp - channels between threads ---------------------===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ThreadTransport.h"

#include "Deadline.h"
#include "Error.h"
#include "Processors.h"

#include <algorithm>
#include <cstring>

namespace stagewright::runtime {

ThreadTransport::ThreadTransport(const Manifest &manifest,
                                 const std::vector<Layout> &layouts,
                                 const std::vector<std::byte *> &arenas,
                                 int64_t microbatches, bool poison, int spins)
    : Transport(manifest.ranks.size()), manifest(manifest),
      microbatches(microbatches), poison(poison), spins(spins),
      waiters(manifest.ranks.size()) {
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
}

void ThreadTransport::reset() {
  for (Ring &ring : rings)
    for (int64_t i = 0; i < ring.count; ++i)
      ring.slots[i].state.store(freeSlot, std::memory_order_relaxed);
  for (Waiter &waiter : waiters)
    waiter.asleep = waiter.finished = false;
  failed.store(false, std::memory_order_release);
  error.clear();
}

ThreadTransport::Slot &ThreadTransport::slotOf(int64_t rank, int64_t channel,
                                               int64_t m, bool sender) {
  checkEnd(manifest, microbatches, rank, channel, m, sender);
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
    raise(what, " microbatch ", m, " of channel '",
          manifest.channels[channel].name, "' out of order");
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

void ThreadTransport::waitFor(int64_t rank, Slot &slot, State wanted,
                              int64_t channel, int64_t m) {
  auto come = [&] {
    return slot.state.load(std::memory_order_acquire) == wanted;
  };
  if (come())
    return checkFailed();
  Whereabouts &where = place(rank);
  where.wait(wanted == freeSlot ? Whereabouts::ToSend : Whereabouts::ToReceive,
             channel, m);
  spin(spins, [&] { return come() || failed.load(std::memory_order_relaxed); });
  if (come())
    where.goOn();
  checkFailed();
  if (come())
    return;
  Waiter &me = waiters[rank];
  me.listening.store(true);
  // The other side changes the state, then reads `listening`; here it is the
  // other way round. So either this load sees the change or the bell rings.
  while (true) {
    uint32_t before = me.bell.load();
    if (slot.state.load() == wanted || failed.load())
      break;
    {
      std::lock_guard lock(mutex);
      me.asleep = true;
      me.slot = &slot, me.wanted = wanted, me.channel = channel, me.m = m;
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
  where.goOn();
}

std::byte *ThreadTransport::claim(int64_t rank, int64_t channel, int64_t m) {
  Slot &slot = slotOf(rank, channel, m, true);
  // What one's own claim or send left there, nobody else will take away.
  State now = slot.state.load(std::memory_order_acquire);
  if ((now & 3) == claimed || now == state(m, published))
    raise("claim of microbatch ", m, " of channel '",
          manifest.channels[channel].name, "' out of order");
  waitFor(rank, slot, freeSlot, channel, m);
  slot.state.store(state(m, claimed), std::memory_order_relaxed);
  return addressOf(channel, m);
}

void ThreadTransport::send(int64_t rank, int64_t channel, int64_t m) {
  Slot &slot = slotOf(rank, channel, m, true);
  checkFailed();
  require(slot, channel, m, state(m, claimed), "send of");
  // Sequentially consistent: the waiter's flag is read after it (see waitFor).
  slot.state.store(state(m, published));
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
    raise("receive of microbatch ", m, " of channel '",
          manifest.channels[channel].name,
          "' out of order: its slot is still held");
  waitFor(rank, slot, state(m, published), channel, m);
  slot.state.store(state(m, received), std::memory_order_relaxed);
  return addressOf(channel, m);
}

void ThreadTransport::release(int64_t rank, int64_t channel, int64_t m) {
  Slot &slot = slotOf(rank, channel, m, false);
  checkFailed();
  require(slot, channel, m, state(m, received), "release of");
  // While the slot is still held: what is not, belongs to the sender.
  if (poison)
    std::memset(addressOf(channel, m), 0xff, rings[channel].stride);
  slot.state.store(freeSlot); // as in send
  ring(manifest.channels[channel].from);
}

//===----------------------------------------------------------------------===//
// Ends: failure, deadlock, a program that is over
//===----------------------------------------------------------------------===//

void ThreadTransport::failLocked(const std::string &text) {
  if (failed.load())
    return;
  error = text;
  failed.store(true);
  ringAll();
}

void ThreadTransport::fail(int64_t rank, const std::string &text) {
  std::lock_guard lock(mutex);
  failLocked("rank " + std::to_string(rank) + ": " + text);
}

/// Whether somebody waits and nobody is left to end it. Only under `mutex`.
bool ThreadTransport::stuck() const {
  bool waiting = false;
  for (const Waiter &waiter : waiters) {
    if (waiter.finished)
      continue;
    if (!waiter.asleep || waiter.slot->state.load() == waiter.wanted)
      return false;
    waiting = true;
  }
  return waiting;
}

std::string ThreadTransport::describeWait(size_t rank) const {
  const Waiter &waiter = waiters[rank];
  const Channel &channel = manifest.channels[waiter.channel];
  bool sends = waiter.wanted == freeSlot;
  int64_t other = sends ? channel.to : channel.from;
  return "rank " + std::to_string(rank) +
         (sends ? " waits to send microbatch " : " waits for microbatch ") +
         std::to_string(waiter.m) + " of channel '" + channel.name +
         (sends ? "' to rank " : "' from rank ") + std::to_string(other) +
         (waiters[other].finished ? ", which has ended" : "");
}

void ThreadTransport::failStuck() {
  std::string text = "the ranks wait for each other";
  for (size_t rank = 0; rank < waiters.size(); ++rank)
    if (!waiters[rank].finished)
      text += "; " + describeWait(rank);
  failLocked(text);
}

std::string ThreadTransport::describeStill(int64_t rank, double seconds) const {
  std::string text = "has not moved for " + printSeconds(seconds) + ": " +
                     places[size_t(rank)].describe(manifest, rank);
  for (size_t other = 0; other < places.size(); ++other)
    if (places[other].awaitedRank(manifest) == rank)
      text += "; rank " + std::to_string(other) + ": " +
              places[other].describe(manifest, int64_t(other));
  return text;
}

void ThreadTransport::finish(int64_t rank) {
  std::lock_guard lock(mutex);
  waiters[rank].finished = true;
  if (stuck())
    failStuck();
}

std::string ThreadTransport::result() {
  std::lock_guard lock(mutex);
  if (failed.load())
    return error;
  for (size_t i = 0; i < rings.size(); ++i)
    for (int64_t slot = 0; slot < rings[i].count; ++slot)
      if (State left = rings[i].slots[slot].state.load())
        return "channel '" + manifest.channels[i].name +
               "' still holds microbatch " + std::to_string(left >> 2) +
               " at the end of the step";
  return "";
}

} // namespace stagewright::runtime
