//===- ThreadFailures.cpp - failures and deadlocks of ranks ---------------===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// How a step on threads ends: by an error of a rank, because its ranks wait for
// each other, or with what is left in channels when all programs have ended.
//
//===----------------------------------------------------------------------===//

#include "Threads/ThreadTransport.h"
#include "stagewright/Runtime/Deadline.h"

#include <algorithm>

namespace stagewright::runtime {

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

/// Whether a rank waits and no rank is left to end that. Requires `mutex`.
bool ThreadTransport::stuck() const {
  bool waiting = false;
  for (const Waiter &waiter : waiters) {
    if (waiter.finished)
      continue;
    if (!waiter.asleep || std::ranges::any_of(waiter.wishes, &Wish::isTrue))
      return false;
    waiting = true;
  }
  return waiting;
}

std::string ThreadTransport::describeWait(size_t rank) const {
  const Wish &wish = waiters[rank].wishes.front();
  std::string who = "rank " + std::to_string(rank);
  if (wish.collective >= 0) {
    const Collective &sum = manifest.collectives[wish.collective];
    for (const Bucket &bucket : sum.buckets)
      if (const auto &begun = open[bucket.rank];
          std::find(begun.begin(), begun.end(), wish.collective) == begun.end())
        return who + " waits for rank " + std::to_string(bucket.rank) +
               (waiters[bucket.rank].finished ? ", which has ended," : "") +
               " to begin its part of " + sum.describe();
    return who + " waits for " + sum.describe();
  }
  const Channel &channel = manifest.channels[wish.channel];
  bool sends = wish.wanted == freeSlot;
  int64_t other = sends ? channel.to : channel.from;
  return who + (sends ? " waits to send " : " waits for ") +
         channel.describe(wish.m) + (sends ? " to rank " : " from rank ") +
         std::to_string(other) +
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
    if (places[other].awaits(manifest, int64_t(other), rank))
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
        return "channel '" + manifest.channels[i].name + "' still holds " +
               manifest.channels[i].which(left >> 2) +
               " at the end of the step";
  for (size_t rank = 0; rank < open.size(); ++rank)
    for (int64_t number : open[rank])
      if (const Collective &sum = manifest.collectives[size_t(number)];
          !sum.carried)
        return sum.describe() + " is never awaited by rank " +
               std::to_string(rank);
  return "";
}

} // namespace stagewright::runtime
