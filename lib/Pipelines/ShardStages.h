//===- ShardStages.h - stages of gangs --------------------------*- C++ -*-===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Converts plans in which gangs run stages, each of several levels of shards,
// to plans in which every device runs the layers of its shards.
//
//===----------------------------------------------------------------------===//

#ifndef STAGEWRIGHT_LIB_PIPELINES_SHARDSTAGES_H
#define STAGEWRIGHT_LIB_PIPELINES_SHARDSTAGES_H

#include "ShardLevels.h"
#include "stagewright/Planning/Plan.h"

namespace stagewright {

/// A stage that one or more gangs run.
struct GroupStage {
  size_t end = 0; ///< One past its last level.
  /// Its gangs, one for each copy. Gang g has the devices from g * ways on.
  std::vector<size_t> groups;
  std::vector<int64_t> recompute; ///< Recomputation, by level; empty: none.
  /// Instead of gangs, if stages have different numbers of shards: the device
  /// of each shard.
  std::vector<size_t> devices = {};
};

struct StagesOfShards {
  std::vector<GroupStage> stages;
  std::string schedule;
};

/// The stages of `plan`, which solves gangProblems() of `layers`.
StagesOfShards stagesOf(const Plan &plan, const ShardedLayers &layers);

/// Converts `plan`, which was made for the levels of a graph before some of its
/// layers were repeated, to `levels`, which include the repeated ones.
StagesOfShards withRepeated(const StagesOfShards &plan,
                            const std::vector<ShardLevel> &levels);

/// `plan` of the layers of `graph` as JSON for pipeline-partition.
std::string toJson(pipeline::GraphOp graph, const Problem &problem,
                   const std::vector<ShardLevel> &levels,
                   const StagesOfShards &plan);

} // namespace stagewright

#endif // STAGEWRIGHT_LIB_PIPELINES_SHARDSTAGES_H
