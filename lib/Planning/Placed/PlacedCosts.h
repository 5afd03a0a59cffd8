//===- PlacedCosts.h - ranks of a plan --------------------------*- C++ -*-===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Private to the planners.
//
//===----------------------------------------------------------------------===//

#ifndef STAGEWRIGHT_LIB_PLANNING_PLACED_PLACEDCOSTS_H
#define STAGEWRIGHT_LIB_PLANNING_PLACED_PLACEDCOSTS_H

#include "stagewright/Planning/Placed.h"

namespace stagewright {

/// The device of every rank.
std::vector<size_t> devicesOf(const std::vector<StagePlan> &stages,
                              const StagePlacement &where);

/// Of the devices of `stage`, which share samples, the first with the least
/// memory: all of them run what the rank of the stage runs.
size_t smallestDevice(const Problem &problem, const StagePlan &stage);

/// By layer: its stage.
std::vector<int64_t> stageOfLayers(const Problem &problem,
                                   const std::vector<StagePlan> &stages);

/// Bytes left for the microbatches in flight on a stage whose replicas share
/// the samples of each microbatch, as if one replica had all samples: the min
/// over the devices of the bytes left there divided by the device's share.
Result<double> leftOfShares(const Problem &problem, const StagePlan &stage,
                            StageMemory memory, int64_t rank);

/// The error of a rank that needs `bytes` before any microbatch is in flight.
Error tooLarge(int64_t rank, int64_t bytes, const Device &device);

} // namespace stagewright

#endif // STAGEWRIGHT_LIB_PLANNING_PLACED_PLACEDCOSTS_H
