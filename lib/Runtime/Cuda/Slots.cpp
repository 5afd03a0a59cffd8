//===- Slots.cpp - checks the use of slots while recording ----------------===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Slots.h"

#include "stagewright/Runtime/Error.h"

namespace stagewright::runtime::cuda {

const Ring &Slots::use(int64_t buffer, int64_t m) const {
  const Ring &ring = layout.buffer(buffer, m, microbatches);
  stashes.access(buffer, m);
  return ring;
}

void Slots::acquire(int64_t buffer, int64_t m) {
  layout.buffer(buffer, m, microbatches);
  stashes.acquire(buffer, m);
}

void Slots::release(int64_t buffer, int64_t m) {
  layout.buffer(buffer, m, microbatches);
  stashes.release(buffer, m);
}

const Channel &Slots::end(int64_t channel, int64_t m, bool sender) const {
  return manifest.channelAt(rank, channel, sender, m, microbatches);
}

void Slots::claim(int64_t channel, int64_t m) {
  const Channel &it = end(channel, m, true);
  // By message, not by slot: few messages are being written at a time.
  if (!claims.insert({{channel, m}, m}).second)
    raise("claim of ", it.describe(m), " out of order");
}

void Slots::send(int64_t channel, int64_t m) {
  const Channel &it = end(channel, m, true);
  if (!claims.erase({channel, m}))
    raise("send of ", it.describe(m), " out of order");
}

bool Slots::receive(int64_t channel, int64_t m) {
  const Channel &it = end(channel, m, false);
  int64_t slots = it.slots(microbatches);
  auto [held, added] = messages.insert({{channel, m % slots}, m});
  if (!added && held->second != m)
    raise("receive of ", it.describe(m),
          " out of order: its slot is still held");
  return added;
}

void Slots::giveBack(int64_t channel, int64_t m) {
  const Channel &it = end(channel, m, false);
  int64_t slots = it.slots(microbatches);
  auto held = messages.find({channel, m % slots});
  if (held == messages.end() || held->second != m)
    raise("release of ", it.describe(m), " out of order");
  messages.erase(held);
}

void Slots::end() const {
  stashes.end();
  if (!claims.empty()) {
    const Channel &it = manifest.channels[claims.begin()->first.first];
    raise("channel '", it.name, "' is claimed for ",
          it.which(claims.begin()->second), ", but nothing is sent");
  }
  if (!messages.empty()) {
    const Channel &it = manifest.channels[messages.begin()->first.first];
    raise("channel '", it.name, "' still holds ",
          it.which(messages.begin()->second), " at the end of the step");
  }
}

} // namespace stagewright::runtime::cuda
