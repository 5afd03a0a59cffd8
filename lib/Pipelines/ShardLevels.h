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

/// One level of pipeline-shard: parallel stages, one for each shard.
struct ShardLevel {
  std::vector<std::vector<std::string>> layers; ///< By shard.
  Seconds seconds; ///< Of its slowest shard, for one microbatch.
  bool isWhole = false;
};

/// The levels of `graph`, first to last, with the times of its `problem`.
/// Layers that only some shards have, for example in the last level, belong to
/// the level before.
std::vector<ShardLevel> levelsOf(pipeline::GraphOp graph,
                                 const Problem &problem, int64_t ways);

/// The ends of the stages of a pipeline, as levels: the cut with the least time
/// of the slowest stage. Cuts come only after whole or scattered values, of
/// which each shard sends its own to one other shard; partial values are larger
/// and would go to all. Fails if there are not enough levels.
Result<std::vector<size_t>> cutLevels(const std::vector<ShardLevel> &levels,
                                      int64_t stages);

} // namespace stagewright

#endif // STAGEWRIGHT_LIB_PIPELINES_SHARDLEVELS_H
