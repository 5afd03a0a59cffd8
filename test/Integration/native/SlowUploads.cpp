//===- SlowUploads.cpp - a driver whose copies to the GPU take long -------===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Replaces libcuda in pp-run (STAGEWRIGHT_CUDA_LIBRARY). Its functions are the
// emulator's, which it is linked with, except for three. The emulator executes
// all work in the call that asks whether it has ended, so there no wait ever
// sees work in progress. Here, for STAGEWRIGHT_SLOW_UPLOADS seconds after the
// last copy from the host, no event is reached. If STAGEWRIGHT_ENDLESS_STEP is
// set, the emulator hangs from the first launch of a graph on.
//
//===----------------------------------------------------------------------===//

#include <chrono>
#include <cstdlib>
#include <dlfcn.h>

using Clock = std::chrono::steady_clock;

static Clock::time_point arrival;

template <typename Function> static Function *emulated(const char *name) {
  static void *emulator = dlopen(EMULATOR_LIBRARY, RTLD_NOW | RTLD_LOCAL);
  return reinterpret_cast<Function *>(dlsym(emulator, name));
}

// NOLINTBEGIN(readability-identifier-naming): the driver's names.
extern "C" {

[[gnu::visibility("default")]] int cuMemcpyHtoDAsync_v2(unsigned long long to,
                                                        const void *from,
                                                        size_t bytes,
                                                        void *stream) {
  const char *seconds = std::getenv("STAGEWRIGHT_SLOW_UPLOADS");
  arrival =
      Clock::now() + std::chrono::duration_cast<Clock::duration>(
                         std::chrono::duration<double>(std::atof(seconds)));
  return emulated<int(unsigned long long, const void *, size_t, void *)>(
      "cuMemcpyHtoDAsync_v2")(to, from, bytes, stream);
}

[[gnu::visibility("default")]] int cuEventQuery(void *event) {
  constexpr int notReady = 600;
  if (Clock::now() < arrival)
    return notReady;
  return emulated<int(void *)>("cuEventQuery")(event);
}

[[gnu::visibility("default")]] int cuGraphLaunch(void *graph, void *stream) {
  if (std::getenv("STAGEWRIGHT_ENDLESS_STEP"))
    setenv("STAGEWRIGHT_EMULATOR_HANG", "1", 1);
  return emulated<int(void *, void *)>("cuGraphLaunch")(graph, stream);
}

} // extern "C"
// NOLINTEND(readability-identifier-naming)
