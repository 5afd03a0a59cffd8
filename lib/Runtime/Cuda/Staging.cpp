//===- Staging.cpp - copies arguments and results -------------------------===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Staging.h"

#include <algorithm>
#include <cstring>

namespace stagewright::runtime::cuda {

Staging::Staging(const Manifest &manifest, const Memory &memory,
                 int64_t microbatches,
                 const std::vector<const Device *> &devices,
                 const std::vector<Stream> &streams)
    : manifest(manifest), memory(memory), microbatches(microbatches),
      blocks(devices.size()), loaded(devices.size(), false) {
  for (size_t r = 0; r < devices.size(); ++r) {
    const std::vector<Buffer> &buffers = manifest.ranks[r].buffers;
    int64_t all = 0;
    for (size_t b = 0; b < buffers.size(); ++b)
      if (buffers[b].argument >= 0 || buffers[b].result >= 0 ||
          buffers[b].kind == BufferKind::Microbatch)
        all += memory.layouts[r].buffers[b].bytes();
    if (!devices[r] || all == 0)
      continue;
    blocks[r].emplace(*devices[r], streams[r], all);
    for (size_t b = 0; b < buffers.size(); ++b)
      if (buffers[b].kind == BufferKind::Microbatch)
        loadNumbers(r, b);
  }
}

HostArenas Staging::shapes() const {
  return {manifest, memory.layouts,
          std::vector<std::byte *>(memory.layouts.size()), microbatches};
}

Address Staging::onDevice(size_t rank, size_t buffer) const {
  return memory.arenas[rank] +
         Address(memory.layouts[rank].buffers[buffer].offset);
}

void Staging::loadBuffer(size_t rank, size_t buffer,
                         const StagingBlocks::Fill &fill) {
  int64_t bytes = memory.layouts[rank].buffers[buffer].bytes();
  if (!blocks[rank] || bytes == 0)
    return;
  blocks[rank]->upload(onDevice(rank, buffer), bytes, fill);
  loaded[rank] = true;
}

void Staging::loadNumbers(size_t rank, size_t buffer) {
  const Ring &ring = memory.layouts[rank].buffers[buffer];
  std::vector<std::byte> numbers(size_t(ring.bytes()));
  fillMicrobatchNumbers(numbers.data(), manifest.ranks[rank].buffers[buffer],
                        ring, microbatches);
  loadBuffer(rank, buffer, [&](std::byte *to, int64_t at, int64_t bytes) {
    std::memcpy(to, numbers.data() + at, size_t(bytes));
  });
}

void Staging::load(size_t argument, const sw_tensor &tensor) {
  auto *data = static_cast<const std::byte *>(tensor.data);
  forArgument(shapes(), argument, [&](size_t r, size_t b, const auto &strips) {
    // One copy for all slots of a batch, with the gaps between them.
    loadBuffer(r, b, [&](std::byte *to, int64_t at, int64_t bytes) {
      for (const Strip &strip : strips)
        forRuns(strip, std::max<int64_t>(at - strip.at, 0),
                std::min(at + bytes - strip.at, strip.bytes()),
                [&](int64_t part, int64_t whole, int64_t size) {
                  std::memcpy(to + strip.at + part - at, data + whole,
                              size_t(size));
                });
    });
  });
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

const std::byte *Staging::fetch(size_t rank, size_t buffer, int64_t at,
                                int64_t bytes) {
  return blocks[rank]->fetch(onDevice(rank, buffer) + Address(at), bytes);
}

} // namespace stagewright::runtime::cuda
