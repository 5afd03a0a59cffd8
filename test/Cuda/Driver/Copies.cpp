//===- Copies.cpp - copies and fills --------------------------------------===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Emulator.h"

using namespace emulator;

/// The mark of bytes copied from the host.
constexpr int writtenByHost = 2;

/// Throws if the host gets bytes that were never written. Results are padded to
/// multiples of 64 bytes, so the last bytes of each 64 may be unwritten.
static void requireWritten(uint64_t address, int64_t bytes) {
  constexpr uint64_t line = 64;
  const uint8_t *marks = memory().find(address, bytes).marks;
  uint64_t last = address + uint64_t(bytes);
  for (uint64_t at = address, next; at < last; at = next) {
    next = std::min((at / line + 1) * line, last);
    uint64_t end = next;
    while (end > at + 1 && !marks[end - 1 - address])
      --end;
    memory().requireKnown(at, int64_t(end - at), "copies to the host");
  }
}

/// Enqueues a copy between host and device.
static int copyWithHost(uint64_t device, void *host, int64_t bytes,
                        Stream *stream, bool toDevice) {
  Stream &it = streamOf(stream);
  bool isAsynchronous = isPinned(host, bytes);
  if (it.capturing && !isAsynchronous)
    return captureUnsupported;
  // For pageable memory the call returns after the host memory was read or
  // written.
  std::string copy;
  if (!isAsynchronous && toDevice)
    copy.assign(static_cast<char *>(host), size_t(bytes));
  int status = enqueue(stream, [=, copy = std::move(copy)] {
    Place there = memory().at(device, bytes, "copies");
    if (toDevice) {
      std::memcpy(there.bytes, copy.empty() ? host : copy.data(),
                  size_t(bytes));
      std::memset(there.marks, writtenByHost, size_t(bytes));
    } else {
      if (executes())
        requireWritten(device, bytes);
      std::memcpy(host, there.bytes, size_t(bytes));
    }
  });
  if (!status && !isAsynchronous && !toDevice)
    await(it.last);
  return status;
}

/// Enqueues a copy within the memory that a device has access to, or to a peer.
static int copyBetween(uint64_t to, uint64_t from, int64_t bytes,
                       Stream *stream, bool toPeer) {
  int device = streamOf(stream).device;
  return enqueue(stream, [=] {
    Place target = memory().at(to, bytes, "copies to");
    Place source = memory().at(from, bytes, "copies");
    for (uint64_t address : {to, from})
      REQUIRE(toPeer || reaches(device, memory().deviceOf(address)),
              "device %d uses memory of device %d, which it has no access to",
              device, memory().deviceOf(address));
    target.copy(source, bytes);
  });
}

EMULATED int cuMemcpyHtoDAsync_v2(uint64_t to, const void *from, int64_t bytes,
                                  Stream *stream) {
  ENTER(to, from, bytes, stream);
  LOG("upload stream=%d to=%#lx bytes=%ld host=%p", idOf(stream), to, bytes,
      from);
  return copyWithHost(to, const_cast<void *>(from), bytes, stream, true);
}
EMULATED int cuMemcpyDtoHAsync_v2(void *to, uint64_t from, int64_t bytes,
                                  Stream *stream) {
  ENTER(to, from, bytes, stream);
  // 4 bytes that the host wrote are the number of a message.
  if (Place it = memory().find(from, 4);
      bytes == 4 && it.bytes && *it.marks == writtenByHost) {
    uint32_t number;
    std::memcpy(&number, it.bytes, 4);
    LOG("tell stream=%d number=%u", idOf(stream), number);
  } else {
    LOG("download stream=%d from=%#lx bytes=%ld host=%p", idOf(stream), from,
        bytes, to);
  }
  return copyWithHost(from, to, bytes, stream, false);
}
EMULATED int cuMemcpyDtoDAsync_v2(uint64_t to, uint64_t from, int64_t bytes,
                                  Stream *stream) {
  ENTER(to, from, bytes, stream);
  LOG("copy stream=%d to=%#lx from=%#lx bytes=%ld", idOf(stream), to, from,
      bytes);
  return copyBetween(to, from, bytes, stream, /*toPeer=*/false);
}
EMULATED int cuMemcpyPeerAsync(uint64_t to, Context *there, uint64_t from,
                               Context *here, int64_t bytes, Stream *stream) {
  ENTER(to, there, from, here, bytes, stream);
  LOG("peer stream=%d to=%#lx device=%d from=%#lx device=%d bytes=%ld",
      idOf(stream), to, there->device, from, here->device, bytes);
  if (memory().deviceOf(to) != there->device ||
      memory().deviceOf(from) != here->device)
    return invalidValue;
  return copyBetween(to, from, bytes, stream, /*toPeer=*/true);
}
/// A fill of a whole allocation marks its bytes as not written: the runtime
/// begins with such fills, and no kernel should rely on them.
EMULATED int cuMemsetD8Async(uint64_t to, unsigned char byte, int64_t bytes,
                             Stream *stream) {
  ENTER(to, byte, bytes, stream);
  LOG("fill stream=%d to=%#lx byte=%d bytes=%ld", idOf(stream), to, byte,
      bytes);
  return enqueue(stream, [=] {
    Place there = memory().at(to, bytes, "fills");
    there.fill(bytes, byte, !memory().isWhole(to, bytes));
  });
}
