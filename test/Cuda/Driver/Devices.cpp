//===- Devices.cpp - devices, contexts and their memory -------------------===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Emulator.h"

#include <cstdio>
#include <set>

using namespace emulator;

static int deviceCount() { return int(setting("DEVICES", 1)); }

static thread_local int current = -1;
/// Peer access: kernels of the first device may use memory of the second.
static std::set<std::pair<int, int>> allReached;
/// Pinned host memory: begin and end of each allocation.
static std::map<const void *, const char *> pinned;

int emulator::architecture() { return int(setting("ARCHITECTURE", 90)); }

int emulator::currentDevice() { return current; }

bool emulator::reaches(int device, int other) {
  return device == other || allReached.contains({device, other});
}

bool emulator::isPinned(const void *address, int64_t bytes) {
  auto *end = static_cast<const char *>(address) + bytes;
  auto next = pinned.upper_bound(address);
  return next != pinned.begin() && end <= std::prev(next)->second;
}

EMULATED int cuInit(unsigned) {
  ENTER();
  return deviceCount() ? success : noDevice;
}
EMULATED int cuDriverGetVersion(int *version) {
  return *version = int(setting("DRIVER", 13000)), 0;
}
EMULATED int cuDeviceGetCount(int *count) { return *count = deviceCount(), 0; }
EMULATED int cuDeviceGet(int *device, int ordinal) {
  return *device = ordinal, ordinal < deviceCount() ? success : invalidDevice;
}
EMULATED int cuDeviceGetName(char *name, int size, int) {
  return std::snprintf(name, size_t(size), "Emulator"), 0;
}
EMULATED int cuDeviceGetUuid_v2(void *uuid, int device) {
  return std::memset(uuid, device + 1, 16), 0;
}
/// Values of an H100; 0 for attributes that the runtime does not read.
EMULATED int cuDeviceGetAttribute(int *value, int attribute, int) {
  enum { multiprocessors = 16, major = 75, minor = 76 };
  *value = attribute == multiprocessors ? 132
           : attribute == major         ? architecture() / 10
           : attribute == minor         ? architecture() % 10
                                        : 0;
  return success;
}
EMULATED int cuDevicePrimaryCtxRetain(Context **context, int device) {
  static Context contexts[64];
  contexts[device].device = device;
  return *context = &contexts[device], 0;
}
EMULATED int cuDevicePrimaryCtxRelease_v2(int) { return 0; }
EMULATED int cuCtxSetCurrent(Context *context) {
  return current = context ? context->device : -1, 0;
}
EMULATED int cuCtxGetStreamPriorityRange(int *least, int *greatest) {
  return *least = 0, *greatest = -5, 0;
}
EMULATED int cuDeviceCanAccessPeer(int *can, int, int) { return *can = 1, 0; }
EMULATED int cuCtxEnablePeerAccess(Context *other, unsigned) {
  ENTER(other);
  allReached.insert({current, other->device});
  return LOG("reach device=%d other=%d", current, other->device), 0;
}

EMULATED int cuMemAlloc_v2(uint64_t *address, size_t bytes) {
  ENTER();
  *address = memory().allocate(int64_t(bytes), current);
  if (!*address)
    return bytes ? outOfMemory : invalidValue;
  LOG("alloc device=%d at=%#lx bytes=%zu", current, *address, bytes);
  return 0;
}
/// Waits for all work to finish first, as the driver does.
EMULATED int cuMemFree_v2(uint64_t address) {
  std::lock_guard guard(lock());
  finish();
  LOG("free at=%#lx", address);
  return memory().free(address) ? success : invalidValue;
}
EMULATED int cuMemGetInfo_v2(size_t *free, size_t *total) {
  return *free = size_t(memory().bytesFree()),
         *total = size_t(memory().bytesInAll()), 0;
}
EMULATED int cuMemHostAlloc(void **address, size_t bytes, unsigned) {
  std::lock_guard guard(lock());
  *address = std::malloc(bytes);
  if (*address)
    pinned[*address] = static_cast<const char *>(*address) + bytes;
  return LOG("pin bytes=%zu", bytes), *address ? success : outOfMemory;
}
EMULATED int cuMemFreeHost(void *address) {
  std::lock_guard guard(lock());
  finish();
  if (!pinned.erase(address))
    return invalidValue;
  std::free(address);
  return LOG("unpin"), 0;
}

EMULATED int cuGetErrorName(int status, const char **name) {
  static thread_local char text[32];
  std::snprintf(text, sizeof(text), "EMULATOR_ERROR_%d", status);
  return *name = text, 0;
}
EMULATED int cuGetErrorString(int status, const char **text) {
  static thread_local std::string why;
  std::lock_guard guard(lock());
  why = status == launchFailed ? error() : "asked to fail";
  return *text = why.c_str(), 0;
}
