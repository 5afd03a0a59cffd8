//===- Layout.cpp - where every buffer lies in a rank's arena -------------===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Memory/Layout.h"

#include "stagewright/Runtime/Error.h"

#include <algorithm>

namespace stagewright::runtime {

namespace {

/// Makes a ring at the current end of the arena, without extending the arena.
Ring ringOf(const Layout &layout, int64_t bytes, int64_t slots,
            const std::string &name) {
  Ring ring;
  ring.offset = layout.total;
  ring.stride = alignUp(bytes);
  ring.slots = slots;
  int64_t size = 0;
  if (__builtin_mul_overflow(ring.stride, slots, &size) ||
      size > (int64_t(1) << 48) - layout.total)
    raise("'", name, "' with ", slots, " slots of ", bytes,
          " bytes does not fit into an arena; run fewer microbatches");
  return ring;
}

/// Makes a ring at the end of the arena and extends the arena by it.
Ring append(Layout &layout, int64_t bytes, int64_t slots,
            const std::string &name) {
  Ring ring = ringOf(layout, bytes, slots, name);
  layout.total += ring.bytes();
  return ring;
}

/// Whether the host reads or writes a slot for each microbatch.
bool needsAllMicrobatches(const Buffer &buffer, const Manifest &manifest) {
  if (buffer.kind == BufferKind::Batch || buffer.kind == BufferKind::Microbatch)
    return true;
  return buffer.result >= 0 &&
         manifest.results[buffer.result].combine == "concat";
}

} // namespace

int64_t Ring::at(int64_t m) const {
  if (starts.empty())
    return offset + (slots == 1 ? 0 : m % slots * stride);
  if (m >= int64_t(starts.size()))
    raise("microbatch ", m, " has no slot in a stash of ", starts.size());
  return offset + starts[size_t(m)];
}

const Ring &Layout::buffer(int64_t number, int64_t m,
                           int64_t microbatches) const {
  if (number < 0 || size_t(number) >= buffers.size())
    raise("buffer ", number, " does not exist");
  if (m < 0 || m >= microbatches)
    raise("microbatch ", m, " is not one of ", microbatches);
  return buffers[size_t(number)];
}

int64_t Ring::bytes() const {
  if (starts.empty())
    return stride * slots;
  return *std::max_element(starts.begin(), starts.end()) + stride;
}

bool Ring::has(int64_t at) const {
  if (starts.empty())
    return at >= offset && at < offset + bytes();
  return std::any_of(starts.begin(), starts.end(), [&](int64_t start) {
    return at >= offset + start && at < offset + start + stride;
  });
}

std::vector<Layout> layOut(const Manifest &manifest, int64_t microbatches) {
  std::vector<Layout> layouts;
  for (size_t r = 0; r < manifest.ranks.size(); ++r)
    layouts.push_back(layOut(manifest, int64_t(r), microbatches));
  return layouts;
}

Layout layOut(const Manifest &manifest, int64_t rank, int64_t microbatches) {
  Layout layout;
  const Ring *workspace = nullptr;
  layout.buffers.reserve(manifest.ranks[rank].buffers.size());
  for (const Buffer &buffer : manifest.ranks[rank].buffers) {
    int64_t slots = buffer.slots(microbatches);
    if (buffer.place >= 0) { // In the workspace; its offset is set below.
      layout.buffers.push_back(
          ringOf(layout, buffer.bytes, slots, buffer.name));
      if (buffer.starts >= 0)
        layout.buffers.back().starts =
            manifest.ranks[rank].starts[size_t(buffer.starts)];
      continue;
    }
    if (buffer.onHost) { // After the arena; its offset is set below.
      layout.buffers.push_back(
          ringOf(layout, buffer.bytes, slots, buffer.name));
      layout.buffers.back().onHost = true;
      continue;
    }
    if (needsAllMicrobatches(buffer, manifest) && slots < microbatches)
      raise("buffer '", buffer.name, "' of rank ", rank, " has ", slots,
            " slots for ", microbatches, " microbatches");
    layout.buffers.push_back(append(layout, buffer.bytes, slots, buffer.name));
    if (buffer.kind != BufferKind::Stash &&
        buffer.kind != BufferKind::Workspace)
      layout.fixed += layout.buffers.back().bytes();
    if (buffer.kind == BufferKind::Workspace)
      workspace = &layout.buffers.back();
  }
  for (size_t i = 0; i < layout.buffers.size(); ++i) {
    const Buffer &buffer = manifest.ranks[rank].buffers[i];
    if (buffer.place < 0)
      continue;
    Ring &ring = layout.buffers[i];
    if (!workspace || buffer.place > workspace->bytes() - ring.bytes())
      raise("stash '", buffer.name, "' of rank ", rank, " with ", ring.bytes(),
            " bytes lies at byte ", buffer.place, " of a workspace of ",
            workspace ? workspace->bytes() : 0);
    ring.offset = workspace->offset + buffer.place;
  }
  for (const Channel &channel : manifest.channels) {
    Ring ring;
    if (channel.to == rank) {
      ring = append(layout, channel.bytes, channel.slots(microbatches),
                    channel.name);
      layout.fixed += ring.bytes();
    }
    layout.channels.push_back(ring);
  }
  for (Ring &ring : layout.buffers)
    if (ring.onHost) {
      ring.offset = layout.total + layout.host;
      layout.host += ring.bytes();
    }
  return layout;
}

int64_t predictedPeak(const Manifest &manifest, int64_t rank,
                      int64_t microbatches) {
  Layout compiled = layOut(manifest, rank, manifest.microbatches);
  Layout actual = layOut(manifest, rank, microbatches);
  // With fewer microbatches stashes never exceed the compiler's peak. With more
  // the manifest does not give a peak, so the bound is the arena.
  if (microbatches > manifest.microbatches)
    return actual.total;
  return std::min(manifest.ranks[rank].livePeak - compiled.fixed + actual.fixed,
                  actual.total);
}

} // namespace stagewright::runtime
