//===- StagingBlocks.cpp - pinned buffers for copies ----------------------===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "StagingBlocks.h"

#include "Error.h"
#include "Faults/Deadline.h"
#include "Memory/Layout.h"
#include "Processes/Patience.h"

#include <algorithm>
#include <cstring>

namespace stagewright::runtime::cuda {

StagingBlocks::StagingBlocks(const Device &device, Stream stream, int64_t all)
    : device(device), stream(stream), size(std::min(alignUp(all), maxBytes)),
      blocks{PinnedMemory(size), PinnedMemory(size)},
      done{EventOwner(device, unsigned(eventDisableTiming)),
           EventOwner(device, unsigned(eventDisableTiming))} {}

void StagingBlocks::wait(size_t block) const {
  constexpr int spins = 64; // A copy may take milliseconds.
  int status = 0;
  for (Patience patience(spins, Deadline::first);
       (status = driver().eventQuery.status(done[block].get())) ==
       statusNotReady;
       patience.pause())
    if (patience.isOver())
      raise("GPU ", device.number(), " did not copy ", size, " bytes within ",
            Deadline::first, " s");
  if (status)
    DriverErrors::fail(driver().eventQuery.symbol, status);
}

void StagingBlocks::turn() {
  device.use();
  driver().eventRecord(done[current].get(), stream,
                       unsigned(eventRecordDefault));
  busy[current] = true;
  current = 1 - current;
  used = 0;
  if (busy[current])
    wait(current);
  busy[current] = false;
}

std::byte *StagingBlocks::claim(int64_t bytes) {
  if (bytes > size)
    return nullptr;
  if (bytes > size - used)
    turn();
  std::byte *room = blocks[current].base() + used;
  used = std::min(size, used + alignUp(bytes));
  return room;
}

void StagingBlocks::send(DevicePointer to, const std::byte *from,
                         int64_t bytes) {
  device.use();
  driver().copyToDevice(to, static_cast<const void *>(from), size_t(bytes),
                        stream);
}

void StagingBlocks::upload(DevicePointer to, const std::byte *from,
                           int64_t bytes) {
  for (int64_t at = 0; at < bytes; at += size) {
    int64_t piece = std::min(size, bytes - at);
    std::byte *room = claim(piece);
    std::memcpy(room, from + at, size_t(piece));
    send(to + DevicePointer(at), room, piece);
  }
}

void StagingBlocks::download(std::byte *to, DevicePointer from, int64_t bytes) {
  device.use();
  for (int64_t at = 0; at < bytes; at += size) {
    int64_t piece = std::min(size, bytes - at);
    std::byte *room = claim(piece);
    driver().copyToHost(static_cast<void *>(room), from + DevicePointer(at),
                        size_t(piece), stream);
    driver().streamSynchronize(stream);
    std::memcpy(to + at, room, size_t(piece));
  }
}

void StagingBlocks::settle() {
  turn();
  wait(1 - current);
  busy[1 - current] = false;
}

} // namespace stagewright::runtime::cuda
