//===- Order.h - one total order of a step's commands -----------*- C++ -*-===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Ranks run side by side; the runtime puts their commands into one order in
// which everything that is waited for comes before what waits. That there is
// one proves that the step finishes: a device that does its share in that
// order, one thing at a time, never waits for something that comes later, nor
// does any device that follows the dependences alone (Kahn, "Topological
// sorting of large networks", 1962; as for the locks of Havender, 1968).
//
// A transfer between processes occupies both its ends until both have begun. It
// stands in the order once, for both, at a place where the message is there and
// the receiver's slot is free; each end does its transfers in this order, one
// after the other, after everything that comes before on its device. So a
// device need not have more than one transfer under way (K = 1), and a transfer
// that waits for its partner may hold the device: the earliest thing that is
// not done can always be done.
//
// So does a sum over ranks, of all its ranks: it stands where the last of them
// has begun it.
//
// Ranks take turns of one action, which keeps the order near the schedule's.
// Linear in commands for each rank that waits.
//
//===----------------------------------------------------------------------===//

#ifndef STAGEWRIGHT_LIB_RUNTIME_CUDA_ORDER_H
#define STAGEWRIGHT_LIB_RUNTIME_CUDA_ORDER_H

#include "Program.h"

namespace stagewright::runtime::cuda {

/// One command of a rank or, where `rank` is -1, a sum over ranks, else the
/// transfer of a message of a channel that is no hand-off.
struct Placed {
  int64_t rank = -1;
  size_t command = 0;
  int64_t channel = 0, m = 0; ///< of a transfer
  int64_t collective = -1;
};

/// Throws an `Error` that says what each rank waits for where there is no such
/// order.
std::vector<Placed> orderProgram(const Manifest &manifest, const Memory &memory,
                                 const std::vector<RankProgram> &programs);

} // namespace stagewright::runtime::cuda

#endif // STAGEWRIGHT_LIB_RUNTIME_CUDA_ORDER_H
