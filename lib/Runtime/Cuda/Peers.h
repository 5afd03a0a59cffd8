//===- Peers.h - the other processes of a step on GPUs ----------*- C++ -*-===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The coordination of a step whose ranks are processes. Until the first step
// all processes agree on errors, so that an error of one is thrown in all.
// After that the processes do not synchronize on the host: messages between
// devices order their work, and a process that fails ends all.
//
//===----------------------------------------------------------------------===//

#ifndef STAGEWRIGHT_LIB_RUNTIME_CUDA_PEERS_H
#define STAGEWRIGHT_LIB_RUNTIME_CUDA_PEERS_H

#include "Messages.h"
#include "Processes/Processes.h"
#include "stagewright/Runtime/Deadline.h"
#include "stagewright/Runtime/Error.h"

#include <functional>

namespace stagewright::runtime::cuda {

class Peers {
public:
  /// Call when every process knows the number of its rank. Collective.
  explicit Peers(Processes &processes);

  int64_t self() const { return processes.group().self(); }
  ProcessGroup &group() const { return processes.group(); }
  Processes &all() const { return processes; }

  /// Which of the `present` GPUs of this host the rank of this process uses.
  /// The user's list has one entry per rank; if it is empty, the ranks of a
  /// host get its GPUs in order.
  int gpu(const std::string &list, int present) const;
  /// Enables several ranks per GPU in NCCL if ranks share one; throws if NCCL's
  /// version does not support it. Collective; call it before making
  /// communicators.
  void settleSharing(const Device &device) const;

  /// Runs `body` in every process; an error of one is thrown in all. Ends all
  /// processes if another one has not finished it `seconds` after this one.
  void together(const std::function<void()> &body,
                double seconds = Deadline::first) const;
  /// Throws if a process has ended.
  void look() const;
  /// Ends all processes with `status`.
  [[noreturn]] void fail(const std::string &error, const Messages *messages,
                         int status = faultStatus) const;

private:
  Processes &processes;
  std::vector<std::string> hosts; ///< by rank
};

} // namespace stagewright::runtime::cuda

#endif // STAGEWRIGHT_LIB_RUNTIME_CUDA_PEERS_H
