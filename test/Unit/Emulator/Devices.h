//===- Devices.h - devices of the emulator for tests ------------*- C++ -*-===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef STAGEWRIGHT_UNIT_EMULATOR_DEVICES_H
#define STAGEWRIGHT_UNIT_EMULATOR_DEVICES_H

#include "Kernels.h"

#include "Cuda/CublasLt.h"

#include <cstdlib>
#include <deque>
#include <vector>

/// Two devices; the first is current in this thread. Memory allocated here is
/// never freed.
class Bench {
public:
  ~Bench() {
    for (auto it : events)
      driver().eventDestroy(it);
  }
  Bench(const Bench &) = delete;
  Bench &operator=(const Bench &) = delete;

  Bench() {
    setenv("STAGEWRIGHT_CUDA_LIBRARY", EMULATOR_LIBRARY, 1);
    setenv("STAGEWRIGHT_CUBLASLT_LIBRARY", EMULATOR_LIBRARY, 1);
    setenv("STAGEWRIGHT_EMULATOR_DEVICES", "2", 1);
    use(0);
  }

  using Pointer = stagewright::runtime::cuda::DevicePointer;
  using Stream = stagewright::runtime::cuda::Stream;

  stagewright::runtime::cuda::Context use(int device) {
    stagewright::runtime::cuda::Context context = nullptr;
    driver().contextRetain(&context, device);
    driver().contextSet(context);
    return context;
  }
  Pointer array(size_t bytes) {
    Pointer address = 0;
    driver().memoryAllocate(&address, bytes);
    return address;
  }
  /// An array of initialized bytes, all 1.
  Pointer written(size_t bytes) {
    Pointer address = array(bytes);
    std::string ones(bytes, '\1');
    driver().copyToDevice(address, static_cast<const void *>(ones.data()),
                          bytes, nullptr);
    driver().streamSynchronize(nullptr);
    return address;
  }
  Stream stream() {
    Stream it = nullptr;
    driver().streamCreate(
        &it, unsigned(stagewright::runtime::cuda::streamNonBlocking), 0);
    return it;
  }
  stagewright::runtime::cuda::EventHandle event(unsigned flags = 0) {
    stagewright::runtime::cuda::EventHandle it = nullptr;
    driver().eventCreate(&it, flags);
    events.push_back(it);
    return it;
  }
  stagewright::runtime::cuda::KernelFunction kernel(const std::string &body) {
    texts.push_back(kernelOf(body));
    stagewright::runtime::cuda::Module module = nullptr;
    driver().moduleLoad(&module,
                        static_cast<const void *>(texts.back().c_str()));
    stagewright::runtime::cuda::KernelFunction function = nullptr;
    driver().moduleFunction(&function, module, "k");
    return function;
  }
  /// Launches a kernel with one thread.
  void launch(const std::string &body, Pointer in, Pointer out, Stream stream) {
    void *arguments[3] = {&in, &out, nullptr};
    driver().launch(kernel(body), 1u, 1u, 1u, 1u, 1u, 1u, 0u, stream,
                    static_cast<void **>(arguments),
                    static_cast<void **>(nullptr));
  }
  /// The word at `address` after all work in `stream`.
  uint64_t word(Pointer address, Stream stream) {
    uint64_t value = 0;
    driver().copyToHost(static_cast<void *>(&value), address, sizeof(value),
                        stream);
    driver().streamSynchronize(stream);
    return value;
  }

private:
  static const stagewright::runtime::cuda::Driver &driver() {
    return stagewright::runtime::cuda::driver();
  }
  std::vector<stagewright::runtime::cuda::EventHandle> events;
  static inline auto &texts = *new std::deque<std::string>;
};

#endif // STAGEWRIGHT_UNIT_EMULATOR_DEVICES_H
