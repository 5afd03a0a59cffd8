//===- ShardStages.h - stages of groups of shards ---------------*- C++ -*-===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Plans in which groups of devices run stages of levels of shards, written as
// plans in which every device runs the layers of its shards.
//
//===----------------------------------------------------------------------===//

#ifndef STAGEWRIGHT_LIB_PIPELINES_SHARDSTAGES_H
#define STAGEWRIGHT_LIB_PIPELINES_SHARDSTAGES_H

#include "ShardLevels.h"
#include "stagewright/Planning/Plan.h"

namespace stagewright {

/// A stage of groups of devices.
struct GroupStage {
  size_t end = 0; ///< One past its last level.
  /// Its groups, one for each copy. Group g has the devices from g * ways on.
  std::vector<size_t> groups;
  std::vector<int64_t> recompute; ///< By level of the stage; empty: nothing.
};

struct StagesOfShards {
  std::vector<GroupStage> stages;
  std::string schedule;
};

/// The stages of `plan`, which solves gangProblems() of `levels`.
StagesOfShards stagesOf(const Plan &plan, const ShardedLayers &layers);

/// `plan`, made for the levels of a graph before layers of it were repeated,
/// for `levels`, which include the repeated ones.
StagesOfShards withRepeated(const StagesOfShards &plan,
                            const std::vector<ShardLevel> &levels);

/// `plan` of the layers of `graph` as JSON for pipeline-partition.
std::string toJson(pipeline::GraphOp graph, const Problem &problem,
                   const std::vector<ShardLevel> &levels,
                   const StagesOfShards &plan);

} // namespace stagewright

#endif // STAGEWRIGHT_LIB_PIPELINES_SHARDSTAGES_H
