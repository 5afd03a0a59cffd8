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

#include <gtest/gtest.h>

#include <cstdio>
#include <cstdlib>
#include <deque>
#include <vector>

/// Statuses of the driver: `CUresult` in cuda.h.
enum : int {
  invalidValue = 1,
  outOfMemory = 2,
  noDevice = 100,
  invalidDevice = 101,
  invalidImage = 200,
  noBinaryForGpu = 209,
  invalidHandle = 400,
  notFound = 500,
  notReady = 600,
  launchFailed = 719,
  captureUnsupported = 900,
  captureUnjoined = 904,
  captureIsolation = 905
};

/// An environment variable STAGEWRIGHT_EMULATOR_... within a scope.
class Setting {
public:
  Setting(const std::string &name, const std::string &value)
      : name("STAGEWRIGHT_EMULATOR_" + name) {
    setenv(this->name.c_str(), value.c_str(), 1);
  }
  ~Setting() { unsetenv(name.c_str()); }
  Setting(const Setting &) = delete;
  Setting &operator=(const Setting &) = delete;

private:
  std::string name;
};

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
    driver().memoryAllocate(&allocated, bytes);
    return allocated;
  }
  /// The array that was allocated last.
  Pointer latest() const { return allocated; }
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
    return kernelIn(kernelOf(body));
  }
  stagewright::runtime::cuda::KernelFunction kernelIn(const std::string &ptx) {
    texts.push_back(ptx);
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
  Pointer allocated = 0;
  static inline auto &texts = *new std::deque<std::string>;
};

/// Expects that what `work(bench, stream)` enqueues fails with this text, a
/// regular expression. It runs in a process of its own, as errors are sticky.
template <typename Work> void expectFailure(Work work, const char *why) {
  using stagewright::runtime::cuda::driver;
  EXPECT_EXIT(
      {
        Bench bench;
        auto stream = bench.stream();
        work(bench, stream);
        int status = driver().streamSynchronize.status(stream);
        const char *text = "";
        driver().errorString.status(status, &text);
        std::fprintf(stderr, "%d: %s\n", status, text);
        std::exit(status ? 0 : 1);
      },
      testing::ExitedWithCode(0), why);
}

#endif // STAGEWRIGHT_UNIT_EMULATOR_DEVICES_H
