//===- Devices.cpp - devices, contexts and their memory -------------------===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Emulator.h"

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <set>

using namespace emulator;

namespace {

struct Context {
  int device;
};

int deviceCount() { return int(setting("STAGEWRIGHT_EMULATOR_DEVICES", 1)); }

Context *contextOf(int device) {
  static Context contexts[64];
  contexts[device].device = device;
  return &contexts[device];
}

thread_local int current = -1;
/// Of which device the kernels may use which other's memory.
std::set<std::pair<int, int>> reaches;
/// Pinned memory of the host: begin and end.
std::map<uint64_t, uint64_t> pinned;

/// The mark of bytes that came from the host.
constexpr int writtenByHost = 2;

/// As CUDA's attributes of an H100 have them; all others are 0.
int attributeOf(int attribute) {
  constexpr int architecture = 90;
  auto version =
      int(setting("STAGEWRIGHT_EMULATOR_ARCHITECTURE", architecture));
  switch (attribute) {
  case 16: // MULTIPROCESSOR_COUNT
    return 132;
  case 75: // COMPUTE_CAPABILITY_MAJOR
    return version / 10;
  case 76: // COMPUTE_CAPABILITY_MINOR
    return version % 10;
  default:
    return 0;
  }
}

/// Whether a copy of the current device may use the bytes.
void requireReach(uint64_t address, int device) {
  if (int owner = memory().deviceOf(address);
      owner != device && !reaches.contains({device, owner}))
    throw Violation("device " + std::to_string(device) + " uses memory of " +
                    "device " + std::to_string(owner) +
                    ", which it has no access to");
}

/// The device's end of a copy with the host.
int copyWithHost(uint64_t device, void *host, size_t bytes, Stream *stream,
                 bool toDevice) {
  Stream &it = streamOf(stream);
  bool isAsynchronous = isPinned(host, bytes);
  if (it.capturing && !isAsynchronous)
    return captureUnsupported;
  // Pageable memory is read before the call returns, and written by then.
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
      if (executes()) // Small results are padded.
        memory().requireKnown(device, 1, "copies to the host");
      std::memcpy(host, there, bytes);
    }
    return true;
  });
  if (!status && !isAsynchronous && !toDevice)
    while (scheduler().error().empty() && !scheduler().reached(it.last)) {
    }
  return status;
}

int copyBetween(uint64_t to, uint64_t from, size_t bytes, Stream *stream) {
  int device = streamOf(stream).device;
  return enqueue(stream, [=] {
    std::byte *target = memory().at(to, int64_t(bytes), "copies to");
    const std::byte *source = memory().at(from, int64_t(bytes), "copies");
    requireReach(to, device);
    requireReach(from, device);
    std::memmove(target, source, bytes);
    // What is not known stays so.
    std::memmove(memory().marks(to), memory().marks(from), bytes);
    return true;
  });
}

} // namespace

int emulator::currentDevice() { return current; }

bool emulator::isPinned(const void *address, size_t bytes) {
  auto at = reinterpret_cast<uint64_t>(address);
  auto next = pinned.upper_bound(at);
  return next != pinned.begin() && at + bytes <= std::prev(next)->second;
}

EMULATED(int) cuInit(unsigned) {
  if (int status = failure("cuInit"))
    return status;
  return deviceCount() ? success : noDevice;
}
EMULATED(int) cuDriverGetVersion(int *version) {
  return *version = int(setting("STAGEWRIGHT_EMULATOR_DRIVER", 13000)), 0;
}
EMULATED(int) cuDeviceGetCount(int *count) { return *count = deviceCount(), 0; }
EMULATED(int) cuDeviceGet(int *device, int ordinal) {
  return *device = ordinal,
         ordinal < deviceCount() ? int(success) : int(invalidDevice);
}
EMULATED(int) cuDeviceGetName(char *name, int size, int) {
  return std::snprintf(name, size_t(size), "Emulator"), 0;
}
EMULATED(int) cuDeviceGetUuid_v2(void *uuid, int device) {
  return std::memset(uuid, device + 1, 16), 0;
}
EMULATED(int) cuDeviceGetAttribute(int *value, int attribute, int) {
  return *value = attributeOf(attribute), 0;
}
EMULATED(int) cuDevicePrimaryCtxRetain(Context **context, int device) {
  return *context = contextOf(device), 0;
}
EMULATED(int) cuDevicePrimaryCtxRelease_v2(int) { return 0; }
EMULATED(int) cuCtxSetCurrent(Context *context) {
  return current = context ? context->device : -1, 0;
}
EMULATED(int) cuCtxGetStreamPriorityRange(int *least, int *greatest) {
  return *least = 0, *greatest = -5, 0;
}
EMULATED(int) cuDeviceCanAccessPeer(int *can, int, int) { return *can = 1, 0; }
EMULATED(int) cuCtxEnablePeerAccess(Context *other, unsigned) {
  std::lock_guard guard(lock());
  if (isDropped("cuCtxEnablePeerAccess"))
    return 0;
  reaches.insert({current, other->device});
  return log("reach device=%d other=%d", current, other->device), 0;
}

EMULATED(int) cuMemAlloc_v2(uint64_t *address, size_t bytes) {
  std::lock_guard guard(lock());
  if (int status = failure("cuMemAlloc_v2"))
    return status;
  *address = memory().allocate(int64_t(bytes), current);
  if (!*address)
    return outOfMemory;
  log("alloc device=%d at=%#lx bytes=%zu", current, *address, bytes);
  return 0;
}
/// Waits for the device, as the driver does.
EMULATED(int) cuMemFree_v2(uint64_t address) {
  std::lock_guard guard(lock());
  scheduler().finish();
  log("free at=%#lx", address);
  return memory().free(address) ? success : invalidValue;
}
EMULATED(int) cuMemGetInfo_v2(size_t *free, size_t *total) {
  return *free = size_t(memory().bytesFree()),
         *total = size_t(memory().bytesInAll()), 0;
}
EMULATED(int) cuMemHostAlloc(void **address, size_t bytes, unsigned) {
  std::lock_guard guard(lock());
  *address = std::malloc(bytes);
  if (*address)
    pinned[reinterpret_cast<uint64_t>(*address)] =
        reinterpret_cast<uint64_t>(*address) + bytes;
  return log("pin bytes=%zu", bytes), *address ? success : outOfMemory;
}
EMULATED(int) cuMemFreeHost(void *address) {
  std::lock_guard guard(lock());
  scheduler().finish();
  if (!pinned.erase(reinterpret_cast<uint64_t>(address)))
    return invalidValue;
  std::free(address);
  return log("unpin"), 0;
}

EMULATED(int)
cuMemcpyHtoDAsync_v2(uint64_t to, const void *from, size_t bytes,
                     Stream *stream) {
  std::lock_guard guard(lock());
  if (isDropped("cuMemcpyHtoDAsync_v2"))
    return 0;
  log("upload stream=%d to=%#lx bytes=%zu host=%p", streamOf(stream).id, to,
      bytes, from);
  return copyWithHost(to, const_cast<void *>(from), bytes, stream, true);
}
EMULATED(int)
cuMemcpyDtoHAsync_v2(void *to, uint64_t from, size_t bytes, Stream *stream) {
  std::lock_guard guard(lock());
  if (isDropped("cuMemcpyDtoHAsync_v2"))
    return 0;
  // What the host itself has written there: the number of a message.
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
  std::lock_guard guard(lock());
  if (isDropped("cuMemcpyDtoDAsync_v2"))
    return 0;
  log("copy stream=%d to=%#lx from=%#lx bytes=%zu", streamOf(stream).id, to,
      from, bytes);
  return copyBetween(to, from, bytes, stream);
}
EMULATED(int)
cuMemcpyPeerAsync(uint64_t to, Context *there, uint64_t from, Context *here,
                  size_t bytes, Stream *stream) {
  std::lock_guard guard(lock());
  if (isDropped("cuMemcpyPeerAsync"))
    return 0;
  log("peer stream=%d to=%#lx device=%d from=%#lx device=%d bytes=%zu",
      streamOf(stream).id, to, there->device, from, here->device, bytes);
  if (memory().deviceOf(to) != there->device ||
      memory().deviceOf(from) != here->device)
    return invalidValue;
  return enqueue(stream, [=] {
    std::byte *target = memory().at(to, int64_t(bytes), "copies to");
    std::memmove(target, memory().at(from, int64_t(bytes), "copies"), bytes);
    std::memmove(memory().marks(to), memory().marks(from), bytes);
    return true;
  });
}
/// A fill of a whole allocation is house-keeping: what it leaves does not count
/// as written.
EMULATED(int)
cuMemsetD8Async(uint64_t to, unsigned char byte, size_t bytes, Stream *stream) {
  std::lock_guard guard(lock());
  if (isDropped("cuMemsetD8Async"))
    return 0;
  log("fill stream=%d to=%#lx byte=%d bytes=%zu", streamOf(stream).id, to, byte,
      bytes);
  return enqueue(stream, [=] {
    std::memset(memory().at(to, int64_t(bytes), "fills"), byte, bytes);
    std::memset(memory().marks(to), !memory().isWhole(to, int64_t(bytes)),
                bytes);
    return true;
  });
}

EMULATED(int) cuGetErrorName(int status, const char **name) {
  static thread_local char text[32];
  std::snprintf(text, sizeof(text), "EMULATOR_ERROR_%d", status);
  return *name = text, 0;
}
EMULATED(int) cuGetErrorString(int status, const char **text) {
  static thread_local std::string why;
  std::lock_guard guard(lock());
  why = status == launchFailed ? scheduler().error() : "asked to fail";
  return *text = why.c_str(), 0;
}
