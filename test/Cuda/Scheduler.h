//===- Scheduler.h - the order in which a device works ----------*- C++ -*-===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Operations wait for those that streams and events put before them, and for
// nothing else: of those that may run, a seed chooses, so that no order holds
// that the program did not ask for. An even seed chooses anew each time; an odd
// one ranks the streams, and one that comes late in this order waits until all
// others can do no more. They run while the host waits for one, so
// copies see the host's memory as it is then, as late as CUDA allows.
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

/// False where it is not over: it is asked again.
using Work = std::function<bool()>;

struct Operation;
using Operations = std::vector<std::shared_ptr<Operation>>;

struct Operation {
  int device, stream;
  Work work;          ///< none: only what it comes after
  bool holds = false; ///< nothing else of its device runs beside it
  Operations after = {};
  bool begun = false, done = false;
};

class Scheduler {
public:
  Scheduler();

  void add(std::shared_ptr<Operation> operation);
  /// Runs one that may; false where none can go on now.
  bool advance();
  /// Whether all are done; runs some where they are not.
  bool reached(const Operations &list);
  /// Runs all that there is.
  void finish();
  /// Why an operation could not be done; no other has run since.
  const std::string &error() const { return problem; }

private:
  bool mayRun(const Operation &operation) const;
  /// Puts them into the order in which they are tried.
  void arrange(Operations &ready) const;

  Operations waiting;
  std::vector<std::shared_ptr<Operation>> holders; ///< by device, may be null
  std::string problem;
};

/// Of all devices of the process; with its lock held.
Scheduler &scheduler();
/// Held by every entry point that changes something.
std::recursive_mutex &lock();
/// For whatever a launch chooses.
std::mt19937 &chance();

} // namespace emulator

#endif // STAGEWRIGHT_TEST_CUDA_SCHEDULER_H
