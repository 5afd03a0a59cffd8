//===- Order.h - one total order of a step's commands -----------*- C++ -*-===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Ranks run concurrently. orderProgram() puts their commands into one total
// order in which every command comes after those that it waits for. If there is
// such an order, the step finishes: a device that runs its part in this order,
// one command at a time, waits only for earlier commands. So does a device that
// only follows the dependences (Kahn, "Topological sorting of large networks",
// 1962; as for the locks of Havender, 1968).
//
// A transfer between processes occupies both ends until both have begun. It is
// in the order once, for both, at a point where the message is complete and the
// receiver's slot is free. Each end runs its transfers in this order, one after
// another, after everything that comes before on its device. So a device needs
// at most one transfer at a time, and a transfer that waits for its partner may
// block the device: the first command that is not done can always run.
//
// The same holds for a sum over ranks, for all its ranks: it is in the order
// where the last of them has begun it. The part of a rank that began it earlier
// need not wait for what the rank computes until then, only for its transfers:
// no partner waits for the rank's work except through those.
//
// Ranks take turns, one action each, so the order is similar to the schedule.
// Time at most O(commands x ranks^2).
//
//===----------------------------------------------------------------------===//

#ifndef STAGEWRIGHT_LIB_RUNTIME_CUDA_ORDER_H
#define STAGEWRIGHT_LIB_RUNTIME_CUDA_ORDER_H

#include "Program.h"

namespace stagewright::runtime::cuda {

/// A command of a rank. If `rank` is -1: a sum over ranks if `collective` >= 0,
/// else the transfer of a message of a channel that is not a hand-off.
struct OrderedCommand {
  int64_t rank = -1;
  size_t command = 0;
  int64_t channel = 0, m = 0; ///< of a transfer: its channel, its message
  int64_t collective = -1;
};

/// Throws an `Error` that lists what each rank waits for if there is no such
/// order.
std::vector<OrderedCommand>
orderProgram(const Manifest &manifest, const Memory &memory,
             const std::vector<RankProgram> &programs);

} // namespace stagewright::runtime::cuda

#endif // STAGEWRIGHT_LIB_RUNTIME_CUDA_ORDER_H
