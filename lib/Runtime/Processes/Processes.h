//===- Processes.h - the processes of one launch ----------------*- C++ -*-===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A process has one such object, created by `connect`. All processes must learn
// of an error in one of them, or they would wait for it; `agree` exchanges
// errors.
//
//===----------------------------------------------------------------------===//

#ifndef STAGEWRIGHT_LIB_RUNTIME_PROCESSES_PROCESSES_H
#define STAGEWRIGHT_LIB_RUNTIME_PROCESSES_PROCESSES_H

#include "Processes/Messenger.h"

#include <atomic>
#include <string>
#include <vector>

namespace stagewright::runtime {

struct Rendezvous;

class Processes {
public:
  /// Connects the processes of the launch: with "mpi" those that mpirun or srun
  /// started, with "sockets" the children of one process (Sockets.h).
  /// Collective; a second call has no effect.
  static void connect(const std::string &engine);
  /// Connects them through an address that all know (Rendezvous.h).
  static void connect(const Rendezvous &how);
  /// Null before `connect` and after `close`.
  static Processes *get();
  void close();

  ProcessGroup &group() { return *link; }
  /// Throws an `Error` if the engine carries no messages of ranks.
  Messenger &messenger();
  /// Host names by process, with the current numbers. Collective.
  std::vector<std::string> hosts();
  /// The number of processes on this host that share CPUs with this one, which
  /// is included, and the place of this one among them. Collective.
  struct Neighbours {
    int64_t count = 0, place = 0;
  };
  Neighbours neighbours();

  /// If a process passes an error, throws it in every process; if several do,
  /// the earliest, by the `when` of each. With `named` the message names the
  /// process, unless all have passed one. False if `timeout` runs out before
  /// all have called.
  bool agree(const std::string &error, int64_t when, bool named,
             PollTimeout timeout);

  /// For processes whose steps do not wait for each other. Every `lag` calls it
  /// completes the previous exchange and begins the next. If one process has
  /// `failed` (with `error` if it is the cause), the error is thrown in all
  /// processes; those that have gone on throw it in a later call. Returns false
  /// as `agree` does. `prepareLater` must be called before.
  void prepareLater(int64_t lag);
  bool agreeLater(const std::string &error, bool failed, int64_t when,
                  PollTimeout timeout);
  /// Completes the exchanges about all calls of `agreeLater` so far; throws and
  /// returns as it does.
  bool settle(PollTimeout timeout);
  /// Whether an error of a process has been thrown in all.
  bool hasFailed() const { return anyFailed; }

  /// Requests an orderly end of all processes. May be called in a signal
  /// handler, and before `connect`.
  static void interrupt() { asked.store(true); }
  /// Whether an end was requested. With several processes: whether one was
  /// requested of any of them before the last `agree`, so that all get the same
  /// answer.
  static bool interrupted();

private:
  explicit Processes(ProcessGroup *link) : link(link) {}

  static std::atomic<bool> asked;
  void beginLater(bool failed);
  bool awaitLater(PollTimeout timeout);
  bool catchUp(PollTimeout timeout);

  ProcessGroup *link; ///< lives as long as the process
  bool anyAsked = false, anyFailed = false;
  /// The exchanges of `agreeLater`: their transfer, the number of calls from
  /// one to the next and since the last, and what they sum over the processes.
  int64_t later = -1, lag = 1, since = 0;
  bool underWay = false;
  struct {
    int64_t failed, asked;
  } counts = {0, 0};
};

} // namespace stagewright::runtime

#endif // STAGEWRIGHT_LIB_RUNTIME_PROCESSES_PROCESSES_H
