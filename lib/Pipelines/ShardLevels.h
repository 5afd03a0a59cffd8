//===- ShardLevels.h - levels of layers that are split ----------*- C++ -*-===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef STAGEWRIGHT_LIB_PIPELINES_SHARDLEVELS_H
#define STAGEWRIGHT_LIB_PIPELINES_SHARDLEVELS_H

#include "stagewright/Dialect/Pipeline/IR/Pipeline.h"
#include "stagewright/Planning/GangProblem.h"

namespace stagewright {

/// One level of pipeline-shard, or its head or tail: parallel layers, one or
/// more for each shard. If stages have different numbers of shards, some shards
/// may have no layers.
struct ShardLevel {
  std::vector<std::vector<size_t>> layers = {}; ///< By shard.
  Seconds seconds = {}; ///< Of its slowest shard, for one microbatch.
  int64_t bytes = 0;    ///< That cross the end of it, for one microbatch.
  /// Whether it is a tail that can be one stage of its device with its head.
  bool joinsHead = false;
  /// Whether a stage of a pipeline may end after it, and whether planners may
  /// end one there: not if far fewer bytes cross nearby.
  bool mayEnd = false, canEnd = false;
  bool again = false; ///< Made by pipeline-repeat-layers: only backwards.
  /// The number of its stage, if stages have different numbers of shards.
  int64_t stage = 0;
};

/// The levels of `graph`, first to last, with the times of its `problem`.
/// Layers that only some shards have, for example in the last level, belong to
/// the level before. Levels that repeat forwards come after the last level that
/// they repeat, in reverse order. No stage ends before them or within the
/// levels that they repeat.
std::vector<ShardLevel> levelsOf(pipeline::GraphOp graph,
                                 const Problem &problem, int64_t ways);

/// The same, without times and bytes, for stages that have the numbers of
/// shards `ways`. In some levels shards of a stage may have no layers. Emits a
/// remark if a shard has none in any level, and an error if the graph was
/// formed for other stages.
mlir::FailureOr<std::vector<ShardLevel>> levelsOf(pipeline::GraphOp graph,
                                                  mlir::ArrayRef<int64_t> ways);

/// The ends of the stages of `levels`.
std::vector<size_t> endsOfStages(const std::vector<ShardLevel> &levels);

/// The places of the layers of `problem` in `levels` of `ways` shards, without
/// ends.
ShardedLayers placesOf(const std::vector<ShardLevel> &levels, int64_t ways,
                       const Problem &problem);

/// `levels` of `ways` shards of the layers of `problem`, as a chain, for
/// gangProblems().
ShardedLayers shardedLayersOf(const std::vector<ShardLevel> &levels,
                              int64_t ways, const Problem &problem);

/// The ends of the stages of a pipeline, as levels: the cut with the least time
/// of the slowest stage. Cuts come only after whole or scattered values, and
/// before the tail of a level if it has one: each shard then sends its own
/// values to one other shard. Partial values are larger, and would go to all.
/// There is no cut where more than twice as many bytes cross as at an end
/// nearby. Fails if there are not enough levels.
Result<std::vector<size_t>> cutLevels(const std::vector<ShardLevel> &levels,
                                      int64_t stages);

} // namespace stagewright

#endif // STAGEWRIGHT_LIB_PIPELINES_SHARDLEVELS_H
