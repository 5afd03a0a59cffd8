//===- Slots.cpp - checks the use of slots while recording ----------------===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Slots.h"

#include "Error.h"

#include <algorithm>

namespace stagewright::runtime::cuda {

const Ring &Slots::use(int64_t buffer, int64_t m) const {
  const auto &buffers = manifest.ranks[rank].buffers;
  if (buffer < 0 || size_t(buffer) >= buffers.size())
    raise("buffer ", buffer, " does not exist");
  if (m < 0 || m >= microbatches)
    raise("microbatch ", m, " is not one of ", microbatches);
  const Ring &ring = layout.buffers[buffer];
  if (buffers[buffer].kind != BufferKind::Stash)
    return ring;
  auto held = stashes.find({buffer, m % ring.slots});
  if (held == stashes.end() || held->second != m)
    raise("stash '", buffers[buffer].name, "' is used for microbatch ", m,
          ", which does not hold its slot");
  return ring;
}

void Slots::acquire(int64_t buffer, int64_t m) {
  const auto &buffers = manifest.ranks[rank].buffers;
  if (buffer < 0 || size_t(buffer) >= buffers.size() ||
      buffers[buffer].kind != BufferKind::Stash)
    raise("buffer ", buffer, " is not a stash");
  if (m < 0 || m >= microbatches)
    raise("microbatch ", m, " is not one of ", microbatches);
  const Ring &ring = layout.buffers[buffer];
  auto [held, added] = stashes.insert({{buffer, m % ring.slots}, m});
  if (!added)
    raise("stash '", buffers[buffer].name, "' slot ", m % ring.slots,
          " is taken for microbatch ", m, " while microbatch ", held->second,
          " holds it");
  if (!ring.onHost)
    live += ring.stride;
  highest = std::max(highest, live);
}

void Slots::release(int64_t buffer, int64_t m) {
  const Ring &ring = use(buffer, m);
  if (!stashes.erase({buffer, m % ring.slots}))
    raise("buffer '", manifest.ranks[rank].buffers[buffer].name,
          "' is not a stash; its slots are held all the time");
  if (!ring.onHost)
    live -= ring.stride;
}

const Channel &Slots::end(int64_t channel, int64_t m, bool sender) const {
  if (channel < 0 || size_t(channel) >= manifest.channels.size())
    raise("channel ", channel, " does not exist");
  const Channel &it = manifest.channels[channel];
  int64_t owner = sender ? it.from : it.to;
  if (rank != owner)
    raise("channel '", it.name, "' belongs to rank ", owner, " at this end");
  if (int64_t count = it.count(microbatches); m < 0 || m >= count)
    raise(it.describe(m), " is not one of ", count);
  return it;
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

void Slots::useWorkspace(int64_t node, int64_t bytes) {
  const RankManifest &it = manifest.ranks[rank];
  int64_t workspace = 0;
  for (size_t i = 0; i < it.buffers.size(); ++i)
    if (it.buffers[i].kind == BufferKind::Workspace)
      workspace += layout.buffers[i].bytes();
  if (node < 0 || size_t(node) >= it.nodes.size())
    raise("node ", node, " does not exist");
  if (bytes > workspace)
    raise("node '", it.nodes[node], "' uses ", bytes,
          " bytes of workspace, but there are ", workspace);
  highest = std::max(highest, live + bytes);
}

void Slots::end() const {
  if (!stashes.empty())
    raise("stash '",
          manifest.ranks[rank].buffers[stashes.begin()->first.first].name,
          "' still holds microbatch ", stashes.begin()->second,
          " at the end of the step");
  if (!claims.empty())
    raise("channel '", manifest.channels[claims.begin()->first.first].name,
          "' is claimed for microbatch ", claims.begin()->second,
          ", but nothing is sent");
  if (!messages.empty())
    raise("channel '", manifest.channels[messages.begin()->first.first].name,
          "' still holds microbatch ", messages.begin()->second,
          " at the end of the step");
}

} // namespace stagewright::runtime::cuda
