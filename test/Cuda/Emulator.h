//===- Emulator.h - a CUDA emulator for CPUs --------------------*- C++ -*-===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Declarations shared by the parts of the emulator, which README.md describes.
//
//===----------------------------------------------------------------------===//

#ifndef STAGEWRIGHT_TEST_CUDA_EMULATOR_H
#define STAGEWRIGHT_TEST_CUDA_EMULATOR_H

#include "Memory.h"

#include <functional>
#include <memory>
#include <mutex>
#include <random>
#include <type_traits>
#include <vector>

/// An entry point of one of NVIDIA's libraries.
#define EMULATED extern "C" __attribute__((visibility("default")))

namespace emulator {

/// Statuses of the driver: `CUresult` in cuda.h.
constexpr int success = 0, invalidValue = 1, outOfMemory = 2, noDevice = 100,
              invalidDevice = 101, invalidImage = 200, noBinaryForGpu = 209,
              invalidHandle = 400, notFound = 500, notReady = 600,
              launchFailed = 719, captureUnsupported = 900,
              captureUnjoined = 904, captureIsolation = 905;

struct Operation;
using Operations = std::vector<std::shared_ptr<Operation>>;

struct Operation {
  int device, stream;
  /// Null if the operation only joins dependencies, and once it has begun.
  std::function<void()> work;
  /// Whether what `work` has begun is complete; nothing else may run on its
  /// device until then. Null if it is complete at once.
  std::function<bool()> isComplete;
  Operations after = {};
  bool done = false;
};

/// Adds an operation to those that wait.
void schedule(std::shared_ptr<Operation> operation);
/// Runs operations until `list` is done; false if that is not possible now.
bool reach(const Operations &list);
/// Runs operations until `list` is done; false if one has failed.
bool await(const Operations &list);
/// Runs all operations.
void finish();
/// The error of the operation that failed, after which none runs.
const std::string &error();

/// Held by every entry point that changes state.
std::recursive_mutex &lock();
/// The random numbers of the emulator, seeded.
std::mt19937 &chance();

/// A vector clock: by stream, the calls ordered before a stream or event.
using Clock = std::map<int, int>;

struct Stream {
  int id, device;
  bool capturing = false;
  Clock clock = {};
  Operations last = {};     ///< dependencies of the next operation
  Operations captured = {}; ///< the same in a capture

  Operations &tail() { return capturing ? captured : last; }
};

/// The variable STAGEWRIGHT_EMULATOR_<name>; empty if it is not set.
std::string variable(const std::string &name);
/// The same as a number, or the default.
int64_t setting(const std::string &name, int64_t fallback);
/// Adds a line to the log: a word and `key=value` pairs.
void logLine(const std::string &line);
#define LOG(...) logLine(text(__VA_ARGS__))
/// The error that the variable FAIL requests for this call, else 0.
int failure(const std::string &symbol);
/// A mistake of the caller, as the variable FAULT requests one: the
/// call does nothing and reports success, or an argument has another value.
struct Fault {
  bool drops = false;
  int argument = -1;  ///< counted down by `apply`; negative: none
  bool adds = false;  ///< to the argument; else replaces it
  int64_t number = 0; ///< that is added to the argument or replaces it

  template <typename T> void apply(T &it) {
    if (argument-- != 0)
      return;
    if constexpr (std::is_pointer_v<T>)
      it = reinterpret_cast<T>((adds ? intptr_t(it) : 0) + number);
    else
      it = T((adds ? it : T(0)) + T(number));
  }
  void apply(std::vector<uint64_t> &list) {
    for (uint64_t &it : list)
      apply(it);
  }
};
/// The fault of this call; calls are counted by symbol.
Fault faultOf(const std::string &symbol);
/// Applies the fault to the arguments; returns whether it drops the call.
template <typename... Arguments>
bool isDropped(const char *symbol, Arguments &...arguments) {
  Fault fault = faultOf(symbol);
  (fault.apply(arguments), ...);
  return fault.drops;
}
/// Begins an entry point: holds the lock, returns the status that FAIL
/// requests, or 0 if FAULT drops the call, and applies FAULT to the arguments.
#define ENTER(...)                                                             \
  std::lock_guard guard(lock());                                               \
  if (int status = failure(__func__))                                          \
    return status;                                                             \
  if (isDropped(__func__ __VA_OPT__(, ) __VA_ARGS__))                          \
  return 0
/// Writes the log now.
void writeLog();
/// Whether kernels compute. Otherwise calls are only recorded, and the contents
/// of memory are undefined.
bool executes();
/// The compute capability of all devices: 90 for 9.0.
int architecture();

struct Context {
  int device;
};
/// The current device of the calling thread, or -1.
int currentDevice();
/// Whether operations of `device` may use memory of `other`.
bool reaches(int device, int other);
/// The stream itself, or the default stream of the current device for null.
Stream &streamOf(Stream *stream);
inline int idOf(Stream *stream) { return streamOf(stream).id; }
/// Enqueues work on a stream; an error if the stream is of another device. In a
/// capture the work runs at each replay.
int enqueue(Stream *stream, std::function<void()> work,
            std::function<bool()> isComplete = nullptr);
/// Whether all `bytes` at `address` are pinned.
bool isPinned(const void *address, int64_t bytes);

} // namespace emulator

#endif // STAGEWRIGHT_TEST_CUDA_EMULATOR_H
