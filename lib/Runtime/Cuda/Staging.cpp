//===- Staging.cpp - what hosts give and take, in pinned memory -----------===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Staging.h"

namespace stagewright::runtime::cuda {

Staging::Staging(const Manifest &manifest, const Memory &memory,
                 int64_t microbatches, const std::vector<bool> &local)
    : manifest(manifest), memory(memory), microbatches(microbatches) {
  for (size_t r = 0; r < manifest.ranks.size(); ++r) {
    const auto &buffers = manifest.ranks[r].buffers;
    Layout layout = memory.layouts[r];
    layout.total = 0;
    newer.emplace_back(buffers.size(), false);
    for (size_t b = 0; b < buffers.size(); ++b) {
      bool numbers = buffers[b].kind == BufferKind::Microbatch;
      if (buffers[b].argument < 0 && buffers[b].result < 0 && !numbers)
        continue;
      layout.buffers[b].offset = layout.total;
      layout.total += layout.buffers[b].bytes();
      newer[r][b] = numbers;
    }
    copies.emplace_back(local[r] ? layout.total : 0);
    layouts.push_back(std::move(layout));
  }
  fillMicrobatchNumbers(tensors());
}

HostArenas Staging::tensors() const {
  HostArenas view = {manifest, layouts, {}, microbatches};
  for (const PinnedMemory &copy : copies)
    view.bases.push_back(copy.base()); // Null for other processes' ranks.
  return view;
}

Address Staging::onDevice(int64_t rank, int64_t buffer) const {
  return memory.arenas[rank] +
         Address(memory.layouts[rank].buffers[buffer].offset);
}

void Staging::changed(size_t argument) {
  forBuffers(manifest, &Buffer::argument, int64_t(argument),
             [&](size_t r, size_t b) { newer[r][b] = true; });
}

bool Staging::upload(int64_t rank, Stream stream) {
  bool any = false;
  for (size_t b = 0; b < newer[rank].size(); ++b) {
    const Ring &ring = layouts[rank].buffers[b];
    if (!newer[rank][b] || ring.bytes() == 0)
      continue;
    driver().copyToDevice(
        onDevice(rank, int64_t(b)),
        static_cast<const void *>(copies[rank].base() + ring.offset),
        size_t(ring.bytes()), stream);
    newer[rank][b] = false;
    any = true;
  }
  return any;
}

void Staging::download(size_t result, int64_t rank, Stream stream) const {
  forBuffers(manifest, &Buffer::result, int64_t(result),
             [&](size_t r, size_t b) {
               const Ring &ring = layouts[r].buffers[b];
               if (int64_t(r) == rank && ring.bytes() > 0)
                 driver().copyToHost(
                     static_cast<void *>(copies[r].base() + ring.offset),
                     onDevice(rank, int64_t(b)), size_t(ring.bytes()), stream);
             });
}

} // namespace stagewright::runtime::cuda
