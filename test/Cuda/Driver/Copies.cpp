//===- Copies.cpp - copies and fills --------------------------------------===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Emulator.h"

#include <cstring>

using namespace emulator;

namespace {

/// The mark of bytes copied from the host.
constexpr int writtenByHost = 2;

/// Throws `Violation` if `device` has no access to the memory at `address`.
void requireReach(uint64_t address, int device) {
  if (int owner = memory().deviceOf(address); !reaches(device, owner))
    throw Violation("device " + std::to_string(device) + " uses memory of " +
                    "device " + std::to_string(owner) +
                    ", which it has no access to");
}

/// Throws if the host gets bytes that were never written. Results are padded to
/// multiples of 64 bytes, so the end of such a line need not be.
void requireWritten(uint64_t address, int64_t bytes) {
  constexpr uint64_t line = 64;
  for (uint64_t at = address, end = address + uint64_t(bytes); at < end;) {
    uint64_t next = std::min((at / line + 1) * line, end);
    const uint8_t *marks = memory().marks(at);
    auto size = int64_t(next - at);
    while (size > 1 && !marks[size - 1])
      --size;
    memory().requireKnown(at, size, "copies to the host");
    at = next;
  }
}

/// Enqueues a copy between host and device.
int copyWithHost(uint64_t device, void *host, size_t bytes, Stream *stream,
                 bool toDevice) {
  Stream &it = streamOf(stream);
  bool isAsynchronous = isPinned(host, bytes);
  if (it.capturing && !isAsynchronous)
    return captureUnsupported;
  // For pageable memory the call returns after the host memory was read or
  // written.
  std::vector<std::byte> copy;
  if (!isAsynchronous && toDevice)
    copy.assign(static_cast<std::byte *>(host),
                static_cast<std::byte *>(host) + bytes);
  int status = enqueue(stream, [=, copy = std::move(copy)] {
    std::byte *there = memory().at(device, int64_t(bytes), "copies");
    if (toDevice) {
      std::memcpy(there, copy.empty() ? host : copy.data(), bytes);
      std::memset(memory().marks(device), writtenByHost, bytes);
    } else {
      if (executes())
        requireWritten(device, int64_t(bytes));
      std::memcpy(host, there, bytes);
    }
    return true;
  });
  if (!status && !isAsynchronous && !toDevice)
    while (scheduler().error().empty() && !scheduler().reached(it.last)) {
    }
  return status;
}

/// Enqueues a copy within the memory that a device has access to, or to a peer.
int copyBetween(uint64_t to, uint64_t from, size_t bytes, Stream *stream,
                bool toPeer) {
  int device = streamOf(stream).device;
  return enqueue(stream, [=] {
    std::byte *target = memory().at(to, int64_t(bytes), "copies to");
    const std::byte *source = memory().at(from, int64_t(bytes), "copies");
    for (uint64_t address : {to, from})
      if (!toPeer)
        requireReach(address, device);
    std::memmove(target, source, bytes);
    // Bytes that were never written remain marked as such.
    std::memmove(memory().marks(to), memory().marks(from), bytes);
    return true;
  });
}

} // namespace

EMULATED(int)
cuMemcpyHtoDAsync_v2(uint64_t to, const void *from, size_t bytes,
                     Stream *stream) {
  ENTER(to, from, bytes, stream);
  log("upload stream=%d to=%#lx bytes=%zu host=%p", streamOf(stream).id, to,
      bytes, from);
  return copyWithHost(to, const_cast<void *>(from), bytes, stream, true);
}
EMULATED(int)
cuMemcpyDtoHAsync_v2(void *to, uint64_t from, size_t bytes, Stream *stream) {
  ENTER(to, from, bytes, stream);
  // 4 bytes that the host wrote are the number of a message.
  if (bytes == 4 && memory().find(from, 4) &&
      *memory().marks(from) == writtenByHost) {
    uint32_t number;
    std::memcpy(&number, memory().find(from, 4), 4);
    log("tell stream=%d number=%u", streamOf(stream).id, number);
  } else {
    log("download stream=%d from=%#lx bytes=%zu host=%p", streamOf(stream).id,
        from, bytes, to);
  }
  return copyWithHost(from, to, bytes, stream, false);
}
EMULATED(int)
cuMemcpyDtoDAsync_v2(uint64_t to, uint64_t from, size_t bytes, Stream *stream) {
  ENTER(to, from, bytes, stream);
  log("copy stream=%d to=%#lx from=%#lx bytes=%zu", streamOf(stream).id, to,
      from, bytes);
  return copyBetween(to, from, bytes, stream, /*toPeer=*/false);
}
EMULATED(int)
cuMemcpyPeerAsync(uint64_t to, Context *there, uint64_t from, Context *here,
                  size_t bytes, Stream *stream) {
  ENTER(to, there, from, here, bytes, stream);
  log("peer stream=%d to=%#lx device=%d from=%#lx device=%d bytes=%zu",
      streamOf(stream).id, to, there->device, from, here->device, bytes);
  if (memory().deviceOf(to) != there->device ||
      memory().deviceOf(from) != here->device)
    return invalidValue;
  return copyBetween(to, from, bytes, stream, /*toPeer=*/true);
}
/// A fill of a whole allocation marks its bytes as not written: the runtime
/// begins with such fills, and no kernel should rely on them.
EMULATED(int)
cuMemsetD8Async(uint64_t to, unsigned char byte, size_t bytes, Stream *stream) {
  ENTER(to, byte, bytes, stream);
  log("fill stream=%d to=%#lx byte=%d bytes=%zu", streamOf(stream).id, to, byte,
      bytes);
  return enqueue(stream, [=] {
    std::memset(memory().at(to, int64_t(bytes), "fills"), byte, bytes);
    std::memset(memory().marks(to), !memory().isWhole(to, int64_t(bytes)),
                bytes);
    return true;
  });
}
