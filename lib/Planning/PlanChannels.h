//===- PlanChannels.h - the channels of a plan ------------------*- C++ -*-===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef STAGEWRIGHT_LIB_PLANNING_PLANCHANNELS_H
#define STAGEWRIGHT_LIB_PLANNING_PLANCHANNELS_H

#include "stagewright/Planning/Evaluate.h"

namespace stagewright {

/// The stage of each layer, and the shares of the replicas.
struct StageFacts {
  const std::vector<int64_t> &stageOf; ///< By layer.
  /// Part of a microbatch, by stage and replica.
  const std::vector<std::vector<double>> &shares;
};

/// Adds a channel to `model` for every two stages of `plan` of which one sends
/// values to the other, with the links that its transfers occupy.
void addChannels(const Problem &problem, const Network &network,
                 const Plan &plan, const StageFacts &facts,
                 PipelineModel &model);

} // namespace stagewright

#endif // STAGEWRIGHT_LIB_PLANNING_PLANCHANNELS_H
