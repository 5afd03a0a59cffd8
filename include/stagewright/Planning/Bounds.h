//===- Bounds.h - what no plan can beat ---------------------*- C++ -*-===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The certificate of a plan. The derivations stand in docs/planner.md.
//
//===----------------------------------------------------------------------===//

#ifndef STAGEWRIGHT_PLANNING_BOUNDS_H
#define STAGEWRIGHT_PLANNING_BOUNDS_H

#include "stagewright/Planning/Evaluate.h"

namespace stagewright {

/// No order of this pipeline's work is faster:
///   max over stages n of  sum_{k<n} (F_k + c_k) + M (F_n + B_n)
///                         + max(tail_n, sum_{k<n} (B_k + c_k)),
/// the same with a channel in the place of the stage, and the load of every
/// processor and shared link as a whole.
Seconds planLowerBound(const PipelineModel &model);

/// What the window order takes at most: max over n of
///   (M + 4S - 4 - 2(n-1)) C + tail_n,
/// C the largest load of a resource in one window. None where the theorem does
/// not hold: stages that share devices or are replicated in turn.
std::optional<Seconds> windowUpperBound(const PipelineModel &model);

/// No plan of contiguous stages on this cluster is faster, whatever its cuts,
/// replicas, devices and order: every stage gets the best devices and every
/// channel the best link.
Seconds familyLowerBound(const Problem &problem, const Network &network);

/// Whether familyLowerBound() speaks of `plan`: its stages are contiguous,
/// share no device, run by no alternatives of their layers, and keep the halves
/// of backwards together.
bool isOfFamily(const Plan &plan);

/// No plan at all is faster, stages that share devices or leave layers out
/// between theirs included: every layer of every microbatch where it takes the
/// fewest seconds of devices, and all devices busy all the time.
Seconds workLowerBound(const Problem &problem);

/// Pipelines side by side, each on as many ranks.
struct PipelineShape {
  int64_t ranks = 1, pipelines = 1;
};

/// No plan of one of `shapes` is faster, however its stages are cut, lie on the
/// ranks, and are ordered, but for twins, which run both ways.
/// `splitsBackward`: halves of backwards may run apart.
Seconds placedLowerBound(const Problem &problem, const Network &network,
                         const std::vector<PipelineShape> &shapes,
                         bool splitsBackward);

} // namespace stagewright

#endif // STAGEWRIGHT_PLANNING_BOUNDS_H
