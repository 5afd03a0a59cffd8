//===- BatchSource.h - batches from another process -------------*- C++ -*-===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A process that computes batches: `stagewright source` for a function in
// Python, or `pp-run --serve-source` for a library (stagewright-rt/source.h).
// Its standard input is a socket, with numbers of 64 bits in the machine's
// order:
//
//   the source, once ready:  0
//   a request:               step, microbatch
//   its answer:              number of tensors; for each: bytes of its name,
//                            type, number of dimensions, extents; name; data
//   instead, on failure:     -1, bytes of a message; message
//
// It ends when the socket closes.
//
//===----------------------------------------------------------------------===//

#ifndef STAGEWRIGHT_LIB_RUNTIME_TRAINING_BATCHSOURCE_H
#define STAGEWRIGHT_LIB_RUNTIME_TRAINING_BATCHSOURCE_H

#include "Processes/Tcp.h"
#include "Training/Feed.h"

#include "stagewright-rt/runtime.h"

#include <atomic>
#include <string>
#include <vector>

namespace stagewright::runtime {

/// A batch argument that a source must provide. `shape` is that of one
/// microbatch.
struct SourceArgument {
  std::string name;
  sw_dtype dtype = SW_F32;
  std::vector<int64_t> shape;
};

/// What --source names: FILE.py:NAME, or LIBRARY.so[:TEXT].
struct SourceName {
  bool isPython = false;
  std::string file, text; ///< The library and its TEXT; empty for Python.
};

/// Throws an `Error` if `what` is neither.
SourceName parseSourceName(const std::string &what);

/// Zeros in the sizes of all microbatches of a step.
Batch zeroBatch(const std::vector<SourceArgument> &arguments,
                int64_t microbatches);

class BatchSource {
public:
  /// Starts the source and waits until it is ready, at most `seconds`. `what`:
  /// FILE.py:NAME or LIBRARY.so[:TEXT]. Throws an `Error` with the reason.
  BatchSource(const std::string &what, uint64_t seed,
              std::vector<SourceArgument> arguments, int64_t microbatches,
              double seconds);
  ~BatchSource();
  BatchSource(const BatchSource &) = delete;
  BatchSource &operator=(const BatchSource &) = delete;

  /// The batch of step `step` (from 0): for each argument, the bytes of all
  /// microbatches. Throws an `Error` that names step, microbatch and reason.
  Batch read(int64_t step);
  /// Max seconds of each wait for the source; from any thread.
  void setLimit(double seconds) { limit = seconds; }
  /// Makes a read() that waits, and all later ones, fail; from any thread.
  void stop();

private:
  void start(uint64_t seed);
  void receive(void *data, size_t bytes);
  int64_t receiveNumber();
  void receiveTensors(Batch &batch, int64_t microbatch);
  void receiveTensor(Batch &batch, int64_t microbatch, std::vector<bool> &has);
  [[noreturn]] void raiseMessage();
  bool ends(double seconds);
  void kill();

  std::string what;
  std::vector<SourceArgument> arguments;
  int64_t microbatches;
  std::atomic<double> limit;
  Socket socket;
  int process = 0, status = 0; ///< process: 0 once it has ended.
};

} // namespace stagewright::runtime

#endif // STAGEWRIGHT_LIB_RUNTIME_TRAINING_BATCHSOURCE_H
