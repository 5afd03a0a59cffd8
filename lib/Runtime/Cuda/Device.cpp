//===- Device.cpp - a GPU and what is loaded on it ------------------------===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Device.h"

#include "stagewright/Runtime/Error.h"

#include <cstring>
#include <utility>

namespace stagewright::runtime::cuda {

static std::string commaList(const std::vector<std::string> &names) {
  std::string text;
  for (const std::string &name : names)
    text += (text.empty() ? "" : ", ") + name;
  return text;
}

Device::Device(int ordinal) : ordinal(ordinal) {
  int count = 0;
  driver().deviceCount(&count);
  if (ordinal < 0 || ordinal >= count)
    raise("there is no GPU ", ordinal, "; there are ", count);
  driver().deviceGet(&device, ordinal);
  driver().contextRetain(&context, device);
  use();
}

// Ignores errors: what cannot be freed after a failed step is freed when the
// process ends.
Device::~Device() {
  if (module)
    driver().moduleUnload.status(module);
  driver().contextRelease.status(device);
}

void Device::load(const void *image, const Manifest &manifest) {
  use();
  try {
    driver().moduleLoad(&module, image);
  } catch (const Error &error) {
    char name[128] = "";
    driver().deviceName(name, int(sizeof(name)), device);
    int version = 0; // 12040 is CUDA 12.4
    driver().driverVersion.status(&version);
    raise("the artifact's device code (", commaList(manifest.architectures),
          manifest.ptx.empty() ? "; no PTX"
                               : "; PTX of " + commaList(manifest.ptx),
          ") does not load on GPU ", ordinal, " (", name, ", sm_",
          architecture(), ", driver of CUDA ", version / 1000, ".",
          version % 1000 / 10, "): ", error.what(),
          "; compile with --target=cuda:sm_", architecture(),
          ", or for older drivers with --ptx=sm_", architecture(),
          ", or install a newer driver");
  }
  // A kernel with more shared memory must opt in ("Shared Memory" in the CUDA
  // C++ Programming Guide).
  constexpr int64_t untold = 48 << 10;
  for (const Kernel &kernel : manifest.kernels) {
    KernelFunction function = nullptr;
    if (int status = driver().moduleFunction.status(&function, module,
                                                    kernel.name.c_str()))
      raise("malformed artifact: its device code has no kernel '", kernel.name,
            "' (status ", status, ")");
    if (kernel.shared > untold)
      driver().functionSet(function, int(functionMaxDynamicShared),
                           int(kernel.shared));
    kernels.push_back(function);
  }
}

int Device::architecture() const {
  int major = 0, minor = 0;
  driver().deviceAttribute(&major, int(attributeMajor), device);
  driver().deviceAttribute(&minor, int(attributeMinor), device);
  return 10 * major + minor;
}

Uuid Device::uuid() const {
  Uuid it;
  driver().deviceUuid(&it, device);
  return it;
}

bool Device::reach(const Device &other) const {
  int can = 0;
  driver().canAccessPeer(&can, device, other.device);
  if (!can)
    return false;
  use();
  int status = driver().enablePeerAccess.status(other.context, 0);
  if (status && status != statusPeerAlreadyEnabled)
    DriverErrors::fail(driver().enablePeerAccess.symbol, status);
  return true;
}

DeviceMemory::DeviceMemory(const Device &device, int64_t bytes)
    : device(&device), bytes(bytes) {
  if (bytes == 0)
    return;
  device.use();
  if (driver().memoryAllocate.status(&address, size_t(bytes))) {
    size_t free = 0, all = 0;
    driver().memoryInfo.status(&free, &all);
    raise("cannot allocate ", bytes, " bytes on GPU ", device.number(),
          ", of which ", free, " of ", all,
          " are free; run fewer microbatches or more stages");
  }
  driver().fill(address, 0, size_t(bytes), nullptr);
  driver().streamSynchronize(nullptr);
}

DeviceMemory::~DeviceMemory() {
  if (!address)
    return;
  driver().contextSet.status(device->handle());
  driver().memoryFree.status(address);
}

DeviceMemory::DeviceMemory(DeviceMemory &&other) noexcept
    : device(other.device), address(std::exchange(other.address, 0)),
      bytes(other.bytes) {}

PinnedMemory::PinnedMemory(int64_t bytes) {
  if (bytes == 0)
    return;
  void *address = nullptr;
  if (driver().hostAllocate.status(&address, size_t(bytes),
                                   unsigned(hostAllocPortable)))
    raise("cannot pin ", bytes,
          " bytes of the host's memory; run fewer microbatches, or compile "
          "with --offload=none if stashes are offloaded");
  memory = static_cast<std::byte *>(address);
  std::memset(memory, 0, size_t(bytes));
}

PinnedMemory::~PinnedMemory() {
  if (memory)
    driver().hostFree.status(memory);
}

PinnedMemory::PinnedMemory(PinnedMemory &&other) noexcept
    : memory(std::exchange(other.memory, nullptr)) {}

StreamOwner::StreamOwner(const Device &device, Priority priority) {
  device.use();
  int usual = 0, highest = 0; // Smaller is more urgent.
  driver().priorityRange(&usual, &highest);
  driver().streamCreate(&stream, unsigned(streamNonBlocking),
                        priority == Priority::Highest ? highest : usual);
}

StreamOwner::~StreamOwner() {
  if (stream)
    driver().streamDestroy.status(stream);
}

StreamOwner::StreamOwner(StreamOwner &&other) noexcept
    : stream(std::exchange(other.stream, nullptr)) {}

EventOwner::EventOwner(const Device &device, unsigned flags) {
  device.use();
  driver().eventCreate(&event, flags);
}

EventOwner::~EventOwner() {
  if (event)
    driver().eventDestroy.status(event);
}

EventOwner::EventOwner(EventOwner &&other) noexcept
    : event(std::exchange(other.event, nullptr)) {}

} // namespace stagewright::runtime::cuda
