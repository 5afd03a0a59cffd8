//===- Scheduler.h - order in which operations run --------------*- C++ -*-===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// An operation waits only for those that streams and events put before it. A
// seed chooses among the operations that may run, so a program cannot rely on
// an order that it did not request. An even seed chooses at random each time;
// an odd seed ranks the streams: one runs only if none before it can.
// Operations run while the host waits for one, so copies read host memory as
// late as CUDA allows.
//
//===----------------------------------------------------------------------===//

#ifndef STAGEWRIGHT_TEST_CUDA_SCHEDULER_H
#define STAGEWRIGHT_TEST_CUDA_SCHEDULER_H

#include <functional>
#include <memory>
#include <mutex>
#include <random>
#include <string>
#include <vector>

namespace emulator {

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

} // namespace emulator

#endif // STAGEWRIGHT_TEST_CUDA_SCHEDULER_H
