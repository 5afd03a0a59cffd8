//===- Averaging.h - delayed averages over replicas -------------*- C++ -*-===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Replicas that update their own parameters and average them every `every`
// steps. A replica begins an average by writing its weighted parameters to a
// buffer, which a sum over the replicas then turns into the average while the
// next steps run. `delay` steps later it merges the average into the parameters
// that it has by then. Source of the rule: Zhou et al., "DaSGD: Squeezing SGD
// Parallelization Performance in Distributed Training Using Delayed Averaging"
// (2020).
//
// What is carried from step to step (the count of steps, the average, the
// snapshot) is in buffers that the host reads and sets like an optimizer's
// state. Whether a sum is still running is not: an average that is read has
// been completed first.
//
//===----------------------------------------------------------------------===//

#ifndef STAGEWRIGHT_LIB_RUNTIME_AVERAGING_H
#define STAGEWRIGHT_LIB_RUNTIME_AVERAGING_H

#include "Memory/HostTensors.h"
#include "Rank.h"

namespace stagewright::runtime {

/// Does what average `number` of the rank requires at the end of a step: begins
/// it, merges it, or nothing.
void average(sw_rank &rank, int64_t number);

/// Begins a new round on all ranks of `arenas`: no step of it is done and no
/// average begun.
void restartRounds(const HostArenas &arenas);

/// Max number of steps that a replica may be behind another, since averages
/// keep them together; 0 without averages.
int64_t maxStepsBehind(const Manifest &manifest);

/// Throws if a replica would have no microbatch of a step.
void requireTurns(const Manifest &manifest, int64_t microbatches);

} // namespace stagewright::runtime

#endif // STAGEWRIGHT_LIB_RUNTIME_AVERAGING_H
