//===- Staging.cpp - copies arguments and results -------------------------===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Staging.h"

#include <algorithm>

namespace stagewright::runtime::cuda {

Staging::Staging(const Manifest &manifest, const Memory &memory,
                 int64_t microbatches,
                 const std::vector<const Device *> &devices,
                 const std::vector<Stream> &streams)
    : manifest(manifest), memory(memory), microbatches(microbatches),
      layouts(memory.layouts), blocks(devices.size()),
      loaded(devices.size(), false) {
  for (size_t r = 0; r < devices.size(); ++r) {
    int64_t all = 0;
    for (size_t b = 0; b < layouts[r].buffers.size(); ++b) {
      const Buffer &buffer = manifest.ranks[r].buffers[b];
      if (buffer.argument >= 0 || buffer.result >= 0 ||
          buffer.kind == BufferKind::Microbatch)
        all += layouts[r].buffers[b].bytes();
    }
    if (devices[r] && all > 0)
      blocks[r].emplace(*devices[r], streams[r], all);
  }
  loadChosen([](const Buffer &it) { return it.kind == BufferKind::Microbatch; },
             fillMicrobatchNumbers);
}

HostArenas Staging::shapes() const {
  return {manifest, layouts, std::vector<std::byte *>(layouts.size()),
          microbatches};
}

Address Staging::onDevice(size_t rank, size_t buffer) const {
  return memory.arenas[rank] +
         Address(memory.layouts[rank].buffers[buffer].offset);
}

template <typename Chosen> std::vector<int64_t> Staging::place(Chosen chosen) {
  std::vector<int64_t> bytes(layouts.size(), 0);
  for (size_t r = 0; r < layouts.size(); ++r)
    for (size_t b = 0; b < layouts[r].buffers.size(); ++b)
      if (blocks[r] && chosen(manifest.ranks[r].buffers[b])) {
        layouts[r].buffers[b].offset = bytes[r];
        bytes[r] += layouts[r].buffers[b].bytes();
      }
  return bytes;
}

template <typename Chosen, typename Fill>
void Staging::loadChosen(Chosen chosen, Fill fill) {
  std::vector<int64_t> bytes = place(chosen);
  HostArenas view = shapes();
  std::vector<std::unique_ptr<std::byte[]>> pageable(bytes.size());
  for (size_t r = 0; r < bytes.size(); ++r) {
    if (bytes[r] == 0)
      continue;
    view.bases[r] = blocks[r]->claim(bytes[r]);
    if (!view.bases[r]) {
      pageable[r].reset(new std::byte[size_t(bytes[r])]);
      view.bases[r] = pageable[r].get();
    }
  }
  fill(view);
  for (size_t r = 0; r < bytes.size(); ++r)
    for (size_t b = 0; b < layouts[r].buffers.size(); ++b) {
      const Ring &ring = layouts[r].buffers[b];
      if (!view.bases[r] || ring.bytes() == 0 ||
          !chosen(manifest.ranks[r].buffers[b]))
        continue;
      const std::byte *from = view.bases[r] + ring.offset;
      pageable[r] ? blocks[r]->upload(onDevice(r, b), from, ring.bytes())
                  : blocks[r]->send(onDevice(r, b), from, ring.bytes());
      loaded[r] = true;
    }
}

void Staging::load(size_t argument, const sw_tensor &tensor) {
  loadChosen([&](const Buffer &it) { return it.argument == int64_t(argument); },
             [&](const HostArenas &view) { copyIn(view, argument, tensor); });
}

bool Staging::takeLoaded(int64_t rank) {
  bool any = loaded[size_t(rank)];
  loaded[size_t(rank)] = false;
  return any;
}

void Staging::settle() {
  for (std::optional<StagingBlocks> &it : blocks)
    if (it)
      it->settle();
}

Staging::Fetched Staging::fetch(size_t result) {
  auto chosen = [&](const Buffer &it) { return it.result == int64_t(result); };
  std::vector<int64_t> bytes = place(chosen);
  Fetched it = {shapes(), {}};
  for (size_t r = 0; r < bytes.size(); ++r) {
    it.images.emplace_back(bytes[r] > 0 ? new std::byte[size_t(bytes[r])]
                                        : nullptr);
    it.arenas.bases[r] = it.images.back().get();
    for (size_t b = 0; b < layouts[r].buffers.size() && bytes[r] > 0; ++b) {
      const Ring &ring = layouts[r].buffers[b];
      if (chosen(manifest.ranks[r].buffers[b]))
        blocks[r]->download(it.images[r].get() + ring.offset, onDevice(r, b),
                            ring.bytes());
    }
  }
  return it;
}

} // namespace stagewright::runtime::cuda
