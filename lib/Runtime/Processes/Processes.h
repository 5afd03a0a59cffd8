//===- Processes.h - the processes of one launch ----------------*- C++ -*-===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// One for a process, made by `connect`. What one process finds wrong, all must
// hear, for they would wait for it; `agree` is where they do.
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
  /// Joins the processes of the launch: "mpi" those that mpirun or srun
  /// started, "sockets" the children of one process (Sockets.h). Collective,
  /// once in a process.
  static void connect(const std::string &engine);
  /// The same by an address that all know (Rendezvous.h).
  static void connect(const Rendezvous &how);
  /// Null before `connect` and after `close`.
  static Processes *get();
  void close();

  Assembly &assembly() { return *link; }
  /// An `Error` where the engine carries no messages of ranks.
  Messenger &messenger();
  /// By process, in the numbers that they have now.
  std::vector<std::string> hosts();
  /// The processes of this host that share processors with this one, which is
  /// counted, and which of them it is. Collective.
  struct Neighbours {
    int64_t count = 0, place = 0;
  };
  Neighbours neighbours();

  /// Throws the same error in every process when one of them gives a text. Of
  /// several the one that happened first, at `when` by its clock; with `named`,
  /// the process is named where it was not all of them. False where patience is
  /// over before all have come.
  bool agree(const std::string &error, int64_t when, bool named,
             Patience patience);

  /// Asks all processes to end in good order; may be called by a handler of a
  /// signal, before `connect` too.
  static void interrupt() { asked.store(true); }
  /// Whether this process, if it is alone, has been asked; of several whether
  /// any had been when they last agreed: all have the same answer.
  static bool interrupted();

private:
  explicit Processes(Assembly *link) : link(link) {}

  static std::atomic<bool> asked;
  Assembly *link; ///< lives as long as the process
  bool anyAsked = false;
};

} // namespace stagewright::runtime

#endif // STAGEWRIGHT_LIB_RUNTIME_PROCESSES_PROCESSES_H
