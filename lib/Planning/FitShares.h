//===- FitShares.h - shares of replicas that fit in memory ------*- C++ -*-===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The samples of a microbatch that each replica of a stage processes, if the
// shares by speed do not fit in the memory of every device. Whale (ATC 2022)
// moves samples from the fullest device to the least loaded one until all fit.
// Here the result is the best one: samples are dealt one by one to the replica
// that then ends first, among those that have room. The times at which each
// replica would finish its first, second, ... sample are given; dealing takes
// the smallest of those that fit, so no other shares have an earlier last
// finish. Bytes do not fall as a share grows, so shares that fit exist if and
// only if each replica has room for one sample and all replicas together have
// room for all samples.
//
//===----------------------------------------------------------------------===//

#ifndef STAGEWRIGHT_LIB_PLANNING_FITSHARES_H
#define STAGEWRIGHT_LIB_PLANNING_FITSHARES_H

#include "LayerIndex.h"
#include <functional>
#include <optional>

namespace stagewright {

/// What a replica can do.
struct ReplicaRoom {
  double seconds = 0; ///< Of a whole microbatch; 0: idle, ends at once.
  int64_t most = 0;   ///< Samples that fit in its memory.
};

/// The samples of each replica, at least one, so that the slowest ends as early
/// as possible; of ties the lower replica gets more. None if the replicas have
/// no room for `samples`. O(replicas^2).
std::optional<std::vector<int64_t>>
dealSamples(const std::vector<ReplicaRoom> &replicas, int64_t samples);

/// The max samples, up to `samples`, for which `fits` holds; it must hold for
/// all lower numbers from 1. 0: for none.
template <typename Fits> int64_t mostSamples(int64_t samples, Fits fits) {
  int64_t low = 0, high = samples + 1; // `low` fits, `high` does not.
  while (low + 1 < high) {
    int64_t middle = low + (high - low) / 2;
    (fits(middle) ? low : high) = middle;
  }
  return low;
}

/// Whether the replicas of `stage` share the samples of each microbatch, and
/// their shares may be chosen: the stage does not state them, and the number of
/// samples is known and at least that of the replicas.
bool mayShare(const Problem &problem, const StagePlan &stage);

/// Speed and room of each replica of stage `stage` of `plan` under `order`, at
/// its levels of recomputation. Other stages on its devices are not counted.
std::vector<ReplicaRoom> roomsOf(const Problem &problem,
                                 const LayerIndex &index, const Plan &plan,
                                 size_t stage, ExecutionOrder order);

/// Sets the samples of the replicas of each stage that does not fit under
/// `order` and may share. Returns false if there is no such stage, or if one
/// has too little room. If `least` is given, it is applied to each such stage
/// before its room is computed and undone afterwards
/// (LevelCurve::leastMemory(), with which the stage keeps as little as it can).
bool fitShares(const Problem &problem, const LayerIndex &index, Plan &plan,
               ExecutionOrder order,
               const std::function<void(StagePlan &)> &least = {});

} // namespace stagewright

#endif // STAGEWRIGHT_LIB_PLANNING_FITSHARES_H
