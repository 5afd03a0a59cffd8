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

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <random>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

/// An entry point of one of NVIDIA's libraries.
#define EMULATED(Result)                                                       \
  extern "C" __attribute__((visibility("default"))) Result

namespace emulator {

/// Statuses of the driver: `CUresult` in cuda.h.
constexpr int success = 0, invalidValue = 1, outOfMemory = 2, noDevice = 100,
              invalidDevice = 101, invalidImage = 200, noBinaryForGpu = 209,
              invalidHandle = 400, notFound = 500, notReady = 600,
              launchFailed = 719, captureUnsupported = 900,
              captureUnjoined = 904, captureIsolation = 905;

/// Returns false if it is not complete; it is then called again.
using Work = std::function<bool()>;

struct Operation;
using Operations = std::vector<std::shared_ptr<Operation>>;

struct Operation {
  int device, stream;
  Work work;          ///< may be null: dependencies only
  bool holds = false; ///< nothing else may run on its device meanwhile
  Operations after = {};
  bool done = false;
};

class Scheduler {
public:
  Scheduler();

  void add(std::shared_ptr<Operation> operation);
  /// Runs one operation to completion; false if none can complete now.
  bool advance();
  /// Runs operations until `list` is done; false if that is not possible now.
  bool reached(const Operations &list);
  /// Runs all operations.
  void finish();
  /// The error of the operation that failed, after which none runs.
  const std::string &error() const { return problem; }

private:
  bool mayRun(const Operation &operation) const;
  /// Sorts operations into the order in which they are tried.
  void arrange(Operations &ready) const;

  Operations waiting;
  std::vector<std::shared_ptr<Operation>> holders; ///< by device, may be null
  std::string problem;
};

/// The scheduler of all devices. Callers must hold `lock()`.
Scheduler &scheduler();
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

struct Event {
  int id;
  unsigned flags = 0;
  bool recorded = false, captured = false;
  Clock clock = {};
  int64_t time = 0;
  Operations last = {};
};

/// Adds a line to the log: a word and `key=value` pairs.
void log(const char *format, ...) __attribute__((format(printf, 1, 2)));
/// The error that STAGEWRIGHT_EMULATOR_FAIL requests for this call, else 0.
int failure(const char *symbol);
/// A mistake of the caller, as STAGEWRIGHT_EMULATOR_FAULT requests one: the
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
Fault faultOf(const char *symbol);
/// Applies the fault to the arguments; returns whether it drops the call.
template <typename... Arguments>
bool isDropped(const char *symbol, Arguments &...arguments) {
  Fault fault = faultOf(symbol);
  (fault.apply(arguments), ...);
  return fault.drops;
}
/// Begins an entry point: holds the lock, returns what FAIL wants of it, or
/// nothing if FAULT drops it, and applies FAULT to the arguments.
#define ENTER(...)                                                             \
  std::lock_guard guard(lock());                                               \
  if (int status = failure(__func__))                                          \
    return status;                                                             \
  if (isDropped(__func__ __VA_OPT__(, ) __VA_ARGS__))                          \
  return 0
/// Writes the log now.
void writeLog();
/// An environment variable, or the default.
int64_t setting(const char *name, int64_t fallback);

/// Whether kernels compute. Otherwise calls are only recorded, and the contents
/// of memory are undefined.
bool executes();

/// The compute capability of all devices: 90 for 9.0.
int architecture();

/// The PTX of an image that a device of this architecture (90: sm_90) runs, for
/// the highest one if there are several. Empty if it runs only the image's
/// machine code; none if it runs nothing of the image. Throws `ptx::Unknown` if
/// the image has another format.
std::optional<std::string_view> ptxOf(const void *image, uint32_t architecture);

struct Context {
  int device;
};
/// The current device of the calling thread, or -1.
int currentDevice();
/// Whether operations of `device` may use memory of `other`.
bool reaches(int device, int other);
/// The stream itself, or the default stream of the current device for null.
Stream &streamOf(Stream *stream);
/// Enqueues work on a stream; an error if the stream is of another device. In a
/// capture the work runs at each replay. If it `holds` the device, nothing else
/// runs there meanwhile.
int enqueue(Stream *stream, Work work, bool holds = false);
/// Whether all `bytes` at `address` are pinned.
bool isPinned(const void *address, size_t bytes);

} // namespace emulator

#endif // STAGEWRIGHT_TEST_CUDA_EMULATOR_H
