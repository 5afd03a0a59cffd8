//===- ProcessGroup.h - communication between processes ---------*- C++ -*-===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What the processes of a launch need before and after a step: numbers,
// collectives, direct messages, and a common end. Implemented by MPI (Mpi/) and
// by sockets (Sockets.h, NetworkSockets.h). Only one thread of a process may
// call at a time. Failures throw an `Error`.
//
//===----------------------------------------------------------------------===//

#ifndef STAGEWRIGHT_LIB_RUNTIME_PROCESSES_PROCESSGROUP_H
#define STAGEWRIGHT_LIB_RUNTIME_PROCESSES_PROCESSGROUP_H

#include "Processes/PollTimeout.h"
#include "stagewright/Runtime/Deadline.h"

#include <cstddef>
#include <cstdint>
#include <string>

namespace stagewright::runtime {

class Messenger;

class ProcessGroup {
public:
  virtual ~ProcessGroup() = default;

  /// This object, if it also carries messages of ranks; else null.
  virtual Messenger *messenger() { return nullptr; }

  /// Timeout of calls without a `PollTimeout` or with an endless one: after so
  /// many seconds without an answer all processes end.
  void limitWaits(double seconds) { limit = seconds; }

  /// The number of this process, and how many there are.
  virtual int64_t self() const = 0;
  virtual int64_t size() const = 0;
  /// Collective: gives this process the number `number`; all must differ.
  virtual void renumber(int64_t number) = 0;

  /// Collective: gathers `bytes` bytes of each process, by number, in `all`.
  /// False if `timeout` runs out before every process has called.
  virtual bool gather(const void *mine, void *all, int64_t bytes,
                      PollTimeout timeout) = 0;
  virtual void broadcast(int64_t from, void *data, int64_t bytes) = 0;
  /// Block until all bytes are sent, or received.
  virtual void sendNow(int64_t to, const void *data, int64_t bytes) = 0;
  virtual void receiveNow(int64_t from, void *data, int64_t bytes) = 0;

  /// The number of a process that ended early; -1 if there is none, or if the
  /// launcher then ends all others itself.
  virtual int64_t deadProcess() { return -1; }

  /// Ends all processes at once with `status`. One text is printed for all:
  /// `error`, the error of another process, or, if there is no error, where in
  /// the step a rank waits.
  [[noreturn]] virtual void abort(int status, const std::string &error) = 0;
  /// Disconnects from the others. Collective; the last call.
  virtual void close() = 0;

protected:
  double limit = Deadline::first;
};

} // namespace stagewright::runtime

#endif // STAGEWRIGHT_LIB_RUNTIME_PROCESSES_PROCESSGROUP_H
