//===- Bounds.h - lower and upper bounds of a step's time -------*- C++ -*-===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Bounds that show how far a plan is from the best. Derived in docs/planner.md.
//
//===----------------------------------------------------------------------===//

#ifndef STAGEWRIGHT_PLANNING_BOUNDS_H
#define STAGEWRIGHT_PLANNING_BOUNDS_H

#include "stagewright/Planning/Evaluate.h"

namespace stagewright {

/// Lower bound over every order of this pipeline's work: with M microbatches
/// and the symbols of Evaluate.h, the max of
///   max over stages n of  sum_{k<n} (F_k + c_k) + M (F_n + B_n)
///                         + max(tail_n, sum_{k<n} (B_k + c_k)),
/// the same with a channel in place of the stage, and the total load of every
/// processor and shared link.
Seconds planLowerBound(const PipelineModel &model);

/// Upper bound on the time of the window order: for M microbatches and S
/// stages, numbered from 1, the max over n of
///   (M + 4S - 4 - 2(n-1)) C + tail_n,
/// where C is the max load of a resource in one window; without backwards it is
/// (M + 2S - 2) C. None if the theorem does not hold, for example because
/// stages share devices or replicas take microbatches in turn.
std::optional<Seconds> windowUpperBound(const PipelineModel &model);

/// Lower bound over every plan of contiguous stages on this cluster, whatever
/// its cuts, replicas, devices and order: it gives every stage the best devices
/// and every channel the best link. Infinite if every device has less memory
/// than the largest layer, or than an equal part of all layers, holds once.
Seconds familyLowerBound(const Problem &problem, const Network &network);

/// Whether familyLowerBound() holds for `plan`: its stages are contiguous,
/// share no device and use no alternatives of their layers, and its order is an
/// ExecutionOrder, not that of a generator.
bool isOfFamily(const Plan &plan);

/// Lower bound over all plans, also those whose stages share devices or are not
/// contiguous: every layer of every microbatch runs where it takes the fewest
/// device-seconds, and all devices are always busy.
Seconds workLowerBound(const Problem &problem);

/// Lower bound over every plan of layers that planners choose from, with one
/// stage per device or several: `whole` has whole backwards, `apart` the same
/// layers with split ones. It is that of the work where the samples of a
/// microbatch limit the replicas of a stage.
Seconds formsLowerBound(const Problem &whole, const Problem &apart);

/// Parallel pipelines, each on `ranks` ranks.
struct PipelineShape {
  int64_t ranks = 1, pipelines = 1;
};

/// Lower bound over every plan of one of `shapes`, however its stages are cut,
/// placed on the ranks and ordered. It does not hold for twin placements, whose
/// pipelines run in both directions. Infinite if no device has the memory for
/// its part of the layers. `splitsBackward`: I and W of a backward may run
/// apart.
Seconds placedLowerBound(const Problem &problem, const Network &network,
                         const std::vector<PipelineShape> &shapes,
                         bool splitsBackward);

/// Those of `shapes` whose placedLowerBound() is below `limit`.
std::vector<PipelineShape> shapesBelow(const Problem &problem,
                                       const Network &network,
                                       std::vector<PipelineShape> shapes,
                                       bool splitsBackward, Seconds limit);

} // namespace stagewright

#endif // STAGEWRIGHT_PLANNING_BOUNDS_H
