//===- StagingBlocks.cpp - pinned buffers for copies ----------------------===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "StagingBlocks.h"

#include "Memory/Layout.h"
#include "Processes/PollTimeout.h"
#include "stagewright/Runtime/Deadline.h"
#include "stagewright/Runtime/Error.h"

#include <algorithm>

namespace stagewright::runtime::cuda {

StagingBlocks::StagingBlocks(const Device &device, Stream stream, int64_t all)
    : device(device), stream(stream), size(std::min(alignUp(all), maxBytes)),
      blocks{PinnedMemory(size), PinnedMemory(size)},
      done{EventOwner(device, unsigned(eventDisableTiming)),
           EventOwner(device, unsigned(eventDisableTiming))} {}

void StagingBlocks::wait(size_t block) const {
  constexpr int spins = 64; // Few: a copy may take milliseconds.
  int status = 0;
  for (PollTimeout timeout(spins, Deadline::first);
       (status = driver().eventQuery.status(done[block].get())) ==
       statusNotReady;
       timeout.pause())
    if (timeout.hasExpired())
      raise("GPU ", device.number(), " did not finish copies of at most ", size,
            " bytes within ", Deadline::first, " s");
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
  if (bytes > size - used)
    turn();
  std::byte *room = blocks[current].base() + used;
  used = std::min(size, used + alignUp(bytes));
  return room;
}

void StagingBlocks::upload(DevicePointer to, int64_t bytes, const Fill &fill) {
  for (int64_t at = 0; at < bytes; at += size) {
    int64_t piece = std::min(size, bytes - at);
    std::byte *room = claim(piece);
    fill(room, at, piece);
    device.use();
    driver().copyToDevice(to + DevicePointer(at),
                          static_cast<const void *>(room), size_t(piece),
                          stream);
  }
}

const std::byte *StagingBlocks::fetch(DevicePointer from, int64_t bytes) {
  if (bytes > size)
    raise("a block of pinned memory has ", size, " bytes, so ", bytes,
          " bytes cannot be copied at once");
  device.use();
  std::byte *room = claim(bytes);
  driver().copyToHost(static_cast<void *>(room), from, size_t(bytes), stream);
  driver().streamSynchronize(stream);
  return room;
}

void StagingBlocks::settle() {
  turn();
  wait(1 - current);
  busy[1 - current] = false;
}

} // namespace stagewright::runtime::cuda
