//===- Assembly.h - processes that found each other -------------*- C++ -*-===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What the processes of a launch must be able to do before and after the work:
// have numbers, agree, give each other bytes, end. MPI is one (Mpi/), sockets
// between the children of one process are another (Sockets.h). Only one thread
// of a process calls at a time. Whatever fails throws an `Error`.
//
//===----------------------------------------------------------------------===//

#ifndef STAGEWRIGHT_LIB_RUNTIME_PROCESSES_ASSEMBLY_H
#define STAGEWRIGHT_LIB_RUNTIME_PROCESSES_ASSEMBLY_H

#include "Faults/Deadline.h"
#include "Processes/Patience.h"

#include <cstddef>
#include <cstdint>
#include <string>

namespace stagewright::runtime {

class Messenger;

class Assembly {
public:
  virtual ~Assembly() = default;

  /// Itself, where it carries messages of ranks too.
  virtual Messenger *messenger() { return nullptr; }

  /// What a call waits for that comes with no patience, or with endless: after
  /// so many seconds without an answer all processes end.
  void limitWaits(double seconds) { limit = seconds; }

  /// The number of this process, and how many there are.
  virtual int64_t self() const = 0;
  virtual int64_t size() const = 0;
  /// Gives every process a new number; each calls with its own.
  virtual void renumber(int64_t number) = 0;

  /// Collective: `bytes` bytes of each process, by number, into `all`. False
  /// when patience is over before every process has come.
  virtual bool gather(const void *mine, void *all, int64_t bytes,
                      Patience patience) = 0;
  virtual void broadcast(int64_t from, void *data, int64_t bytes) = 0;
  /// Until the other side has taken or given all bytes.
  virtual void sendNow(int64_t to, const void *data, int64_t bytes) = 0;
  virtual void receiveNow(int64_t from, void *data, int64_t bytes) = 0;

  /// The number of a process that has ended before its time; -1 where there is
  /// none, or where whoever started them ends all others by itself.
  virtual int64_t gone() { return -1; }

  /// Ends all processes at once with that status. What failed is told to the
  /// user, once of all processes: the error, or where the ranks are.
  [[noreturn]] virtual void abort(int status, const std::string &error) = 0;
  /// Leaves the others in good order. Collective; the last call.
  virtual void close() = 0;

protected:
  double limit = Deadline::first;
};

} // namespace stagewright::runtime

#endif // STAGEWRIGHT_LIB_RUNTIME_PROCESSES_ASSEMBLY_H
