//===- Peers.h - the other processes of a step on GPUs ----------*- C++ -*-===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What a step whose ranks are processes does beside running its own rank. Until
// the first step all agree, so that an error of one is the error of all. From
// then on no process asks another: messages between devices keep them together,
// and who cannot go on ends everybody.
//
//===----------------------------------------------------------------------===//

#ifndef STAGEWRIGHT_LIB_RUNTIME_CUDA_PEERS_H
#define STAGEWRIGHT_LIB_RUNTIME_CUDA_PEERS_H

#include "Faults/Deadline.h"
#include "Messages.h"
#include "Processes/Processes.h"

#include <functional>

namespace stagewright::runtime::cuda {

class Peers {
public:
  /// After every process has got the number of its rank. Collective.
  explicit Peers(Processes &processes);

  int64_t self() const { return processes.assembly().self(); }
  Assembly &assembly() const { return processes.assembly(); }
  Processes &all() const { return processes; }

  /// Which of the `present` GPUs of this host its rank runs on: by the user's
  /// list, one entry per rank, or in order among the ranks of the host.
  int gpu(const std::string &list, int present) const;
  /// Lets NCCL take several ranks on one GPU where there are; throws where it
  /// cannot. Collective, before anything of NCCL is made.
  void settleSharing(const Device &device) const;

  /// Runs what every process does alone; an error of one is thrown in all. Ends
  /// all where one does not come within `seconds`.
  void together(const std::function<void()> &body,
                double seconds = Deadline::first) const;
  /// Throws where a process has ended.
  void look() const;
  /// Ends all processes.
  [[noreturn]] void fail(const std::string &error,
                         const Messages *messages) const;

private:
  Processes &processes;
  std::vector<std::string> hosts; ///< by rank
};

} // namespace stagewright::runtime::cuda

#endif // STAGEWRIGHT_LIB_RUNTIME_CUDA_PEERS_H
