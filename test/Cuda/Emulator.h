//===- Emulator.h - a CUDA that executes on processors ----------*- C++ -*-===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What the parts of the emulator share; README.md says what it is.
//
//===----------------------------------------------------------------------===//

#ifndef STAGEWRIGHT_TEST_CUDA_EMULATOR_H
#define STAGEWRIGHT_TEST_CUDA_EMULATOR_H

#include "Memory.h"
#include "Scheduler.h"

#include <cstdint>
#include <map>
#include <string>
#include <vector>

/// An entry point of one of NVIDIA's libraries.
#define EMULATED(Result)                                                       \
  extern "C" __attribute__((visibility("default"))) Result

namespace emulator {

/// Of the driver: `CUresult` in cuda.h.
enum Status : int {
  success = 0,
  invalidValue = 1,
  outOfMemory = 2,
  noDevice = 100,
  invalidDevice = 101,
  invalidImage = 200,
  invalidHandle = 400,
  notFound = 500,
  notReady = 600,
  launchFailed = 719,
  captureUnsupported = 900,
  captureUnjoined = 904,
  captureIsolation = 905
};

/// What a stream or event knows of: calls seen, by stream.
using Clock = std::map<int, int>;

struct Stream {
  int id, device;
  bool capturing = false;
  Clock clock = {};
  Operations last = {};     ///< what the next operation comes after
  Operations captured = {}; ///< the same of one that is captured

  Operations &tail() { return capturing ? captured : last; }
};

struct Event {
  int id;
  unsigned flags = 0;
  bool recorded = false, captured = false;
  Clock clock = {};
  int64_t time = 0;
  Operations last = {};
};

/// Adds a line: a word and `key=value` pairs.
void log(const char *format, ...) __attribute__((format(printf, 1, 2)));
/// The status that STAGEWRIGHT_EMULATOR_FAIL wants of this call, else 0.
int failure(const char *symbol);
/// Whether STAGEWRIGHT_EMULATOR_DROP wants this call, counted by symbol, to do
/// nothing and say that it was done.
bool isDropped(const char *symbol);
/// Writes the text now.
void writeLog();
/// A variable of the environment, or the default.
int64_t setting(const char *name, int64_t fallback);

/// Whether kernels compute: else only what is called is recorded, and nothing
/// is known of what memory holds.
bool executes();

struct Context {
  int device;
};
/// The device of the calling thread, or -1.
int currentDevice();
/// Whether work of a device may use memory of another.
bool reaches(int device, int other);
/// The stream itself, or the current device's own one for null.
Stream &streamOf(Stream *stream);
/// Work for a stream: refused for one of another device. In a capture it is
/// done at each replay.
int enqueue(Stream *stream, Work work);
/// Work that holds its device from its beginning to its end.
int enqueueHolding(Stream *stream, Work work);
/// Whether so many bytes are pinned.
bool isPinned(const void *address, size_t bytes);

} // namespace emulator

#endif // STAGEWRIGHT_TEST_CUDA_EMULATOR_H
