//===- Device.h - a GPU and what is loaded on it ----------------*- C++ -*-===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// One GPU of this process: its primary context, which all libraries share, and
// the kernels of an artifact. Also owners (RAII) of memory, streams and events,
// so that a step whose construction fails releases everything.
//
//===----------------------------------------------------------------------===//

#ifndef STAGEWRIGHT_LIB_RUNTIME_CUDA_DEVICE_H
#define STAGEWRIGHT_LIB_RUNTIME_CUDA_DEVICE_H

#include "Artifact/Manifest.h"
#include "Driver.h"

#include <memory>
#include <vector>

namespace stagewright::runtime::cuda {

class Device {
public:
  explicit Device(int ordinal);
  ~Device();
  Device(const Device &) = delete;
  Device &operator=(const Device &) = delete;

  /// Makes it the current device of the calling thread.
  void use() const { driver().contextSet(context); }
  /// Loads device code (a fat binary, a cubin or PTX) and finds its kernels.
  void load(const void *image, const Manifest &manifest);
  /// Enables peer access: kernels and copies of this device may then access the
  /// memory of `other`. False if the hardware does not support it.
  bool reach(const Device &other) const;

  int number() const { return ordinal; }
  /// Compute capability without the dot: 90 for sm_90.
  int architecture() const;
  Uuid uuid() const;
  Context handle() const { return context; }
  KernelFunction kernel(int64_t number) const { return kernels[number]; }

private:
  int ordinal, device = 0;
  Context context = nullptr;
  Module module = nullptr;
  std::vector<KernelFunction> kernels;
};

/// Memory of a device, zeroed.
class DeviceMemory {
public:
  DeviceMemory(const Device &device, int64_t bytes);
  ~DeviceMemory();
  DeviceMemory(DeviceMemory &&other) noexcept;
  DeviceMemory &operator=(DeviceMemory &&) = delete;

  DevicePointer base() const { return address; }
  int64_t size() const { return bytes; }

private:
  const Device *device;
  DevicePointer address = 0;
  int64_t bytes = 0;
};

/// Pinned host memory, which devices copy from and to without the CPU.
class PinnedMemory {
public:
  explicit PinnedMemory(int64_t bytes);
  ~PinnedMemory();
  PinnedMemory(PinnedMemory &&other) noexcept;
  PinnedMemory &operator=(PinnedMemory &&) = delete;

  std::byte *base() const { return memory; }

private:
  std::byte *memory = nullptr;
};

/// Of a stream: kernels of higher priority get free multiprocessors first.
enum class Priority { Usual, Highest };

class StreamOwner {
public:
  explicit StreamOwner(const Device &device, Priority priority);
  ~StreamOwner();
  StreamOwner(StreamOwner &&other) noexcept;
  StreamOwner &operator=(StreamOwner &&) = delete;
  Stream get() const { return stream; }

private:
  Stream stream = nullptr;
};

class EventOwner {
public:
  EventOwner(const Device &device, unsigned flags);
  ~EventOwner();
  EventOwner(EventOwner &&other) noexcept;
  EventOwner &operator=(EventOwner &&) = delete;
  EventHandle get() const { return event; }

private:
  EventHandle event = nullptr;
};

} // namespace stagewright::runtime::cuda

#endif // STAGEWRIGHT_LIB_RUNTIME_CUDA_DEVICE_H
