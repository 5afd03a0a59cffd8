//===- ShardLevels.h - levels of layers that are split ----------*- C++ -*-===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef STAGEWRIGHT_LIB_PIPELINES_SHARDLEVELS_H
#define STAGEWRIGHT_LIB_PIPELINES_SHARDLEVELS_H

#include "stagewright/Dialect/Pipeline/IR/Pipeline.h"
#include "stagewright/Planning/Problem.h"

namespace stagewright {

/// What the stages of one level of pipeline-shard, one for each shard, do.
struct ShardLevel {
  std::vector<std::vector<std::string>> layers; ///< By shard.
  Seconds seconds; ///< Of the slowest shard, for one microbatch.
  bool isWhole = false;
};

/// The levels of `graph`, first to last, with the times of its `problem`.
/// Layers that only some shards have, as the last level's may be, go with those
/// before them.
std::vector<ShardLevel> levelsOf(pipeline::GraphOp graph,
                                 const Problem &problem, int64_t ways);

/// Behind which levels the stages of a pipeline end: the cut whose slowest
/// stage is fastest. It is behind whole values, of which each shard sends its
/// own to one other, or scattered ones; partial ones, larger, would go to all.
/// Fails where there are not enough levels.
Result<std::vector<size_t>> cutLevels(const std::vector<ShardLevel> &levels,
                                      int64_t stages);

} // namespace stagewright

#endif // STAGEWRIGHT_LIB_PIPELINES_SHARDLEVELS_H
