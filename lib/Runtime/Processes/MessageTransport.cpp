//===- MessageTransport.cpp - channels between processes ------------------===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Processes/MessageTransport.h"

#include "Processes/PollTimeout.h"
#include "Recording/Recorder.h"
#include "stagewright/Runtime/Deadline.h"
#include "stagewright/Runtime/Error.h"

#include <algorithm>
#include <cstring>
#include <iterator>

namespace stagewright::runtime {

int64_t sendingBytes(const Manifest &manifest,
                     const std::vector<Layout> &layouts, int64_t rank) {
  int64_t bytes = 0;
  for (size_t i = 0; i < manifest.channels.size(); ++i)
    if (manifest.channels[i].from == rank)
      bytes += layouts[manifest.channels[i].to].channels[i].bytes();
  return bytes;
}

MessageTransport::MessageTransport(const Manifest &manifest,
                                   const std::vector<Layout> &layouts,
                                   std::byte *arena, int64_t microbatches,
                                   bool poison, bool paced, int spins,
                                   Messenger &messenger)
    : Transport(manifest.ranks.size()), manifest(manifest),
      messenger(messenger), self(messenger.self()), microbatches(microbatches),
      poison(poison), spins(spins),
      sending(sendingBytes(manifest, layouts, self)),
      ends(manifest.channels.size()) {
  sending.populate();
  if (paced && !manifest.flows)
    raise("pace has 'sends', but the artifact has no rates of its messages; "
          "compile it with pp-compile --policy=oes");
  if (paced && manifest.flows->empty())
    raise("pace has 'sends', but no microbatches of the artifact go from one "
          "host to another; leave it out, or plan for several hosts");
  if (paced)
    rates = *manifest.flows;
  for (auto [ranks, rate] : rates)
    if (ranks.first == self)
      this->paced.try_emplace(ranks.second, rate);
  int64_t tag = 0, place = 0;
  for (size_t i = 0; i < ends.size(); ++i) {
    const Channel &channel = manifest.channels[i];
    const Ring &ring = layouts[channel.to].channels[i];
    End &end = ends[i];
    end.sends = channel.from == self;
    end.stride = ring.stride;
    if (!end.sends && channel.to != self) {
      tag += ring.slots;
      continue;
    }
    end.slots.resize(size_t(ring.slots));
    for (int64_t number = 0; number < ring.slots; ++number, ++tag) {
      Slot &slot = end.slots[number];
      slot.data = end.sends ? sending.base() + place
                            : arena + ring.offset + number * ring.stride;
      place += end.sends ? ring.stride : 0;
      prepare(slot, channel, tag);
    }
  }
  for (const Collective &sum : manifest.collectives) {
    std::vector<int64_t> ranks;
    int64_t transfer = -1;
    for (const Bucket &bucket : sum.buckets)
      ranks.push_back(bucket.rank);
    for (const Bucket &bucket : sum.buckets)
      if (bucket.rank == self) {
        std::byte *data =
            arena + layouts[self].buffers[bucket.first].at(bucket.slot);
        transfer = sum.gathers ? messenger.prepareGather(data, sum.bytes(),
                                                         ranks, sum.exchanges)
                               : messenger.prepareSum(data, sum.dtype,
                                                      sum.elements, ranks);
      }
    sums.push_back(transfer);
  }
  running.resize(sums.size());
  for (End &end : ends)
    for (Slot &slot : end.slots)
      if (!end.sends) {
        start(slot);
        slot.state = Posted;
      }
}

/// Makes the transfers of a slot: one, or one for each part if sends are paced.
void MessageTransport::prepare(Slot &slot, const Channel &channel,
                               int64_t tag) {
  int64_t part = channel.bytes;
  if (auto rate = rates.find({channel.from, channel.to}); rate != rates.end())
    part = PacedSends<Slot *>::partBytes(rate->second);
  int64_t from = 0;
  do {
    int64_t bytes = std::min(part, channel.bytes - from);
    slot.transfers.push_back(
        channel.from == self
            ? messenger.prepareSend(slot.data + from, bytes, channel.to, tag)
            : messenger.prepareReceive(slot.data + from, bytes, channel.from,
                                       tag));
    from += bytes;
  } while (from < channel.bytes);
}

void MessageTransport::start(Slot &slot) {
  slot.ended = 0;
  for (int64_t transfer : slot.transfers)
    messenger.start(transfer);
  slot.begun = slot.transfers.size();
}

void MessageTransport::startPaced() {
  for (auto &[to, sends] : paced)
    sends.advance(now(), [&](Slot *slot) {
      messenger.start(slot->transfers[slot->begun++]);
      --partsWaiting, ++moved;
    });
}

/// Whether the current message of a slot has been sent, or received. Also
/// starts paced sends that are due.
bool MessageTransport::isDone(Slot &slot) {
  startPaced();
  while (slot.ended < slot.begun && messenger.done(slot.transfers[slot.ended]))
    ++slot.ended, ++moved;
  return slot.ended == slot.transfers.size();
}

MessageTransport::~MessageTransport() {
  std::vector<int64_t> transfers;
  for (const End &end : ends)
    for (const Slot &slot : end.slots)
      transfers.insert(transfers.end(), slot.transfers.begin(),
                       slot.transfers.end());
  std::copy_if(sums.begin(), sums.end(), std::back_inserter(transfers),
               [](int64_t transfer) { return transfer >= 0; });
  messenger.freeTransfers(transfers, failed.load());
  if (failed.load())
    sending.leave();
}

/// After a failed step some transfers never complete, so no other step can run.
void MessageTransport::reset() {
  if (failed.load())
    raise("an earlier step has failed; end the processes and start again");
  forgetSent();
  // Messages in flight belong to the last step.
  for (End &end : ends)
    for (Slot &slot : end.slots)
      if (slot.state == Sent)
        slot.m = -1;
}

MessageTransport::Slot &MessageTransport::slotOf(int64_t rank, int64_t channel,
                                                 int64_t m, bool sender) {
  manifest.channelAt(rank, channel, sender, m, microbatches);
  auto &slots = ends[channel].slots;
  return slots[m % int64_t(slots.size())];
}

void MessageTransport::require(const Slot &slot, int64_t channel, int64_t m,
                               State wanted, const char *what) const {
  if (slot.state != wanted || slot.m != m)
    raise(what, " ", manifest.channels[channel].describe(m), " out of order");
}

FailureReport MessageTransport::report() const {
  std::lock_guard lock(mutex);
  const RankPosition &where = places[size_t(self)];
  FailureReport report;
  report.when = failedAt ? failedAt : now();
  report.awaited = where.awaitedRank(manifest, self) + 1;
  report.raised = !error.empty() && !inVain;
  report.setText(!error.empty() ? error
                                : "rank " + std::to_string(self) + ": " +
                                      where.describe(manifest, self));
  return report;
}

void MessageTransport::lookForStop() {
  if (messenger.stopReceived())
    failed.store(true, std::memory_order_release);
  checkFailed();
}

template <typename Condition>
void MessageTransport::waitUntil(Condition come, RankPosition::Wait what,
                                 int64_t number, int64_t m) {
  checkFailed();
  if (come())
    return;
  RankPosition &where = places[size_t(self)];
  where.wait(what, number, m);
  auto giveUp = [&](const std::string &why) {
    inVain = true;
    raise(where.describe(manifest, self), why);
  };
  PollTimeout timeout(spins, limit);
  for (uint64_t seen = moved; !come();) {
    if (moved != seen) // A slow message, not a rank that hangs.
      seen = moved, timeout.restart(limit);
    if (timeout.isCheckDue())
      lookForStop();
    if (timeout.hasExpired())
      giveUp(", without progress for " + printSeconds(limit));
    if (timeout.isCheckDue() && timeout.isLongWait() &&
        messenger.deadProcess() >= 0)
      giveUp("");
    timeout.pause();
  }
  where.endWait();
}

std::byte *MessageTransport::claim(int64_t rank, int64_t channel, int64_t m) {
  Slot &slot = slotOf(rank, channel, m, true);
  if (slot.state == Claimed || (slot.state == Sent && slot.m == m))
    raise("claim of ", manifest.channels[channel].describe(m), " out of order");
  if (slot.state == Sent)
    waitUntil([&] { return isDone(slot); }, RankPosition::ToSend, channel, m);
  slot.state = Claimed, slot.m = m;
  return slot.data;
}

void MessageTransport::send(int64_t rank, int64_t channel, int64_t m) {
  Slot &slot = slotOf(rank, channel, m, true);
  checkFailed();
  require(slot, channel, m, Claimed, "send of");
  const Channel &of = manifest.channels[channel];
  if (auto sends = paced.find(of.to); sends != paced.end()) {
    slot.begun = slot.ended = 0;
    int64_t part = PacedSends<Slot *>::partBytes(rates.at({self, of.to}));
    for (size_t i = 0; i < slot.transfers.size(); ++i)
      sends->second.add(&slot, std::min(part, of.bytes - int64_t(i) * part));
    partsWaiting += int64_t(slot.transfers.size());
    startPaced();
  } else {
    start(slot);
  }
  count(rank, of);
  slot.state = Sent;
}

std::byte *MessageTransport::held(int64_t rank, int64_t channel, int64_t m) {
  Slot &slot = slotOf(rank, channel, m, false);
  return slot.state == Held && slot.m == m ? slot.data : nullptr;
}

std::byte *MessageTransport::recv(int64_t rank, int64_t channel, int64_t m) {
  Slot &slot = slotOf(rank, channel, m, false);
  if (slot.state == Held)
    raise("receive of ", manifest.channels[channel].describe(m),
          " out of order: its slot is still held");
  waitUntil([&] { return isDone(slot); }, RankPosition::ToReceive, channel, m);
  slot.state = Held, slot.m = m;
  return slot.data;
}

void MessageTransport::release(int64_t rank, int64_t channel, int64_t m) {
  Slot &slot = slotOf(rank, channel, m, false);
  checkFailed();
  require(slot, channel, m, Held, "release of");
  if (poison)
    std::memset(slot.data, 0xff, size_t(ends[channel].stride));
  start(slot);
  slot.state = Posted;
}

/// A slot with a posted receive gets its next message, which is `need.m`,
/// because messages are received in order.
bool MessageTransport::isReady(int64_t rank, const Need &need) {
  Slot &slot = slotOf(rank, need.channel, need.m, need.sends);
  if (slot.state == Free)
    return need.sends;
  return slot.state == (need.sends ? Sent : Posted) && isDone(slot);
}

void MessageTransport::waitForAny(int64_t rank, std::span<const Need> needs) {
  const Need &first = needs.front();
  waitUntil(
      [&] {
        return std::ranges::any_of(
            needs, [&](const Need &need) { return isReady(rank, need); });
      },
      first.sends ? RankPosition::ToSend : RankPosition::ToReceive,
      first.channel, first.m);
}

void MessageTransport::startRest() {
  try {
    for (size_t number = 0; number < ends.size() && partsWaiting > 0; ++number)
      for (Slot &slot : ends[number].slots)
        if (slot.state == Sent)
          waitUntil(
              [&] {
                startPaced();
                return slot.begun == slot.transfers.size();
              },
              RankPosition::ToSend, int64_t(number), slot.m);
  } catch (const Stopped &) {
  } catch (const std::exception &problem) {
    fail(self, problem.what());
    finish(self);
  }
}

/// The transfer of a collective; throws if `rank` is not part of it.
int64_t MessageTransport::sumOf(int64_t rank, int64_t collective) const {
  manifest.collective(collective).placeOf(rank);
  return sums[size_t(collective)];
}

void MessageTransport::allReduce(int64_t rank, int64_t collective) {
  checkFailed();
  messenger.start(sumOf(rank, collective));
  count(rank, manifest.collectives[size_t(collective)]);
  running[size_t(collective)] =
      manifest.collectives[size_t(collective)].carried;
  ++sumsUnderWay;
}

void MessageTransport::awaitReduced(int64_t rank, int64_t collective) {
  int64_t transfer = sumOf(rank, collective);
  if (manifest.collectives[size_t(collective)].carried &&
      !running[size_t(collective)])
    return;
  waitUntil(
      [&] {
        startPaced();
        return messenger.done(transfer);
      },
      RankPosition::ForSum, collective, 0);
  running[size_t(collective)] = false;
  --sumsUnderWay;
}

void MessageTransport::settle() {
  for (size_t number = 0; number < running.size(); ++number)
    if (running[number] && !failed.load())
      awaitReduced(self, int64_t(number));
}

void MessageTransport::progress() noexcept {
  try {
    startPaced();
    if (messenger.stopReceived()) // Also advances transfers.
      failed.store(true, std::memory_order_release);
  } catch (const std::exception &problem) {
    fail(self, problem.what());
  }
}

void MessageTransport::fail(int64_t rank, const std::string &text) {
  std::lock_guard lock(mutex);
  if (!error.empty())
    return;
  error = "rank " + std::to_string(rank) + ": " + text;
  failedAt = now();
  failed.store(true, std::memory_order_release);
}

/// Only the rank on which the failure occurred notifies the others.
void MessageTransport::finish(int64_t rank) {
  bool own = false;
  {
    std::lock_guard lock(mutex);
    own = !error.empty();
  }
  if (own)
    messenger.sendStop(); // Sends `report()`.
}

std::string MessageTransport::result() {
  std::lock_guard lock(mutex);
  if (failed.load())
    return error;
  for (size_t i = 0; i < ends.size(); ++i)
    for (const Slot &slot : ends[i].slots)
      if (slot.state == Claimed || slot.state == Held)
        return "channel '" + manifest.channels[i].name + "' still holds " +
               manifest.channels[i].which(slot.m) + " at the end of the step";
  return "";
}

} // namespace stagewright::runtime
