//===- Checker.cpp - accounting of live memory ----------------------------===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Memory/Checker.h"

#include "stagewright/Runtime/Error.h"

#include <algorithm>
#include <cstring>
#include <map>

namespace stagewright::runtime {

StashSlots::StashSlots(const RankManifest &rank, const Layout &layout)
    : rank(rank), layout(layout) {
  for (size_t i = 0; i < rank.buffers.size(); ++i) {
    bool stash = rank.buffers[i].kind == BufferKind::Stash;
    held.emplace_back(stash ? layout.buffers[i].slots : 0, noMicrobatch);
    if (rank.buffers[i].kind == BufferKind::Workspace)
      workspace += layout.buffers[i].bytes();
  }
  reset();
}

void StashSlots::reset() {
  for (auto &slots : held)
    std::fill(slots.begin(), slots.end(), noMicrobatch);
  live = highest = layout.fixed;
}

int64_t &StashSlots::holder(int64_t buffer, int64_t m) {
  auto &slots = held[buffer];
  if (slots.empty())
    raise("buffer '", rank.buffers[buffer].name,
          "' is not a stash; its slots are held all the time");
  return slots[m % int64_t(slots.size())];
}

void StashSlots::acquire(int64_t buffer, int64_t m) {
  int64_t &owner = holder(buffer, m);
  if (owner != noMicrobatch)
    raise("stash '", rank.buffers[buffer].name, "' slot ",
          m % layout.buffers[buffer].slots, " is taken for microbatch ", m,
          " while microbatch ", owner, " holds it");
  owner = m;
  if (!layout.buffers[buffer].onHost)
    live += layout.buffers[buffer].stride;
  highest = std::max(highest, live);
}

void StashSlots::release(int64_t buffer, int64_t m) {
  int64_t &owner = holder(buffer, m);
  const Ring &ring = layout.buffers[buffer];
  if (owner != m)
    raise("stash '", rank.buffers[buffer].name, "' slot ", m % ring.slots,
          " is released for microbatch ", m, ", which does not hold it");
  owner = noMicrobatch;
  if (!ring.onHost)
    live -= ring.stride;
}

void StashSlots::access(int64_t buffer, int64_t m) const {
  const auto &slots = held[buffer];
  if (!slots.empty() && slots[m % int64_t(slots.size())] != m)
    raise("stash '", rank.buffers[buffer].name, "' is used for microbatch ", m,
          ", which does not hold its slot");
  if (slots.empty() && layout.buffers[buffer].slots > 1 &&
      m >= layout.buffers[buffer].slots)
    raise("buffer '", rank.buffers[buffer].name, "' has ",
          layout.buffers[buffer].slots, " slots, but microbatch ", m,
          " is used");
}

void StashSlots::useWorkspace(int64_t node, int64_t bytes) {
  if (const std::string &name = rank.node(node); bytes > workspace)
    raise("node '", name, "' uses ", bytes,
          " bytes of workspace, but there are ", workspace);
  highest = std::max(highest, live + bytes);
}

void StashSlots::end() const {
  for (size_t i = 0; i < held.size(); ++i)
    for (int64_t owner : held[i])
      if (owner != noMicrobatch)
        raise("stash '", rank.buffers[i].name, "' still holds microbatch ",
              owner, " at the end of the step");
}

namespace {
constexpr int poison = 0xff;

bool filledByHost(BufferKind kind) {
  switch (kind) {
  case BufferKind::Parameter:
  case BufferKind::Constant:
  case BufferKind::Seed:
  case BufferKind::State:
  case BufferKind::Batch:
  case BufferKind::Microbatch:
    return true;
  default:
    return false;
  }
}
} // namespace

void Checker::begin() {
  reset();
  for (size_t i = 0; i < rank.buffers.size(); ++i)
    if (!filledByHost(rank.buffers[i].kind) && rank.buffers[i].place < 0)
      std::memset(arena + layout.buffers[i].offset, poison,
                  layout.buffers[i].bytes());
  for (const Ring &ring : layout.channels)
    if (ring.bytes() > 0)
      std::memset(arena + ring.offset, poison, ring.bytes());
}

void Checker::release(int64_t buffer, int64_t m) {
  StashSlots::release(buffer, m);
  const Ring &ring = layout.buffers[buffer];
  std::memset(arena + ring.at(m), poison, ring.stride);
}

void Checker::beginAction() {
  // Workspace ranges that are not poisoned: stash slots in use.
  std::map<int64_t, int64_t> kept;
  for (size_t i = 0; i < rank.buffers.size(); ++i)
    if (rank.buffers[i].place >= 0)
      for (int64_t owner : held[i])
        if (owner != noMicrobatch) {
          const Ring &ring = layout.buffers[i];
          kept[ring.at(owner)] = ring.at(owner) + ring.stride;
        }
  for (size_t i = 0; i < rank.buffers.size(); ++i) {
    if (rank.buffers[i].kind != BufferKind::Workspace)
      continue;
    int64_t from = layout.buffers[i].offset;
    for (auto [begin, end] : kept) {
      std::memset(arena + from, poison, begin - from);
      from = end;
    }
    std::memset(arena + from, poison,
                layout.buffers[i].offset + layout.buffers[i].bytes() - from);
  }
}

} // namespace stagewright::runtime
