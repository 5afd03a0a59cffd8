//===- Stages.h - stages with different numbers of shards -------*- C++ -*-===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// If the stages of a pipeline have different numbers of shards, the sharder
// must know the stage of every operation. So the layers of the step, as
// pipeline-form-graph would form them, are cut into stages before they are
// split: values never flow to an earlier stage in the forward, nor to a later
// one in the backward.
//
//===----------------------------------------------------------------------===//

#ifndef STAGEWRIGHT_LIB_DIALECT_PIPELINE_TRANSFORMS_SHARD_STAGES_H
#define STAGEWRIGHT_LIB_DIALECT_PIPELINE_TRANSFORMS_SHARD_STAGES_H

#include "stagewright/Analysis/Layers.h"
#include "stagewright/Cost/Cluster.h"
#include <set>

namespace stagewright::pipeline {

/// The stages of a step.
struct StageShards {
  /// The stage of what may be in any: an argument that no stage reads, or a
  /// value that all shards share.
  static constexpr int kAny = -1;

  llvm::SmallVector<int64_t> ways; ///< Numbers of shards, by stage.
  /// By stage: the devices of its shards; empty: no two stages share one.
  std::vector<std::vector<int64_t>> devices;
  std::vector<int> of; ///< By operation of the graph, or kAny.
  /// By argument: the stages whose forwards read it.
  std::vector<std::set<int>> readers;

  /// The first stage that reads argument `number`, or kAny.
  int stageOf(unsigned number) const {
    return readers[number].empty() ? kAny : *readers[number].begin();
  }
  /// The shard of stage `from` that sends what it has to `shard` of stage `to`:
  /// the one on its device, if there is one.
  int64_t senderOf(int from, int to, int64_t shard) const;
  /// Whether `shard` of stage `from` is on the device of `other` of stage `to`.
  bool areOnOneDevice(int from, int64_t shard, int to, int64_t other) const {
    return !devices.empty() && devices[size_t(from)][size_t(shard)] ==
                                   devices[size_t(to)][size_t(other)];
  }
  /// The number of shards of stageOf(number); for kAny, of the first stage.
  int64_t waysOf(unsigned number) const {
    return ways[size_t(std::max(stageOf(number), 0))];
  }
};

/// Cuts `layers` of `graph` into a stage for each entry of `ways`, so that the
/// slowest stage, whose shards share its work equally, is as fast as possible
/// on devices like `device`. Emits an error if there are too few layers.
mlir::FailureOr<StageShards> cutIntoStages(const StepGraph &graph,
                                           const Layers &layers,
                                           llvm::ArrayRef<int64_t> ways,
                                           const Device &device);

/// The operations of `block` but its terminator, each with its stage: the
/// forward stage by stage, then the backward from the last stage to the first,
/// else in their order. An operation without a layer is in the stage of its
/// operands.
std::vector<std::pair<mlir::Operation *, int>>
inOrderOfStages(mlir::Block &block, const StepGraph &graph,
                const StageShards &stages);

} // namespace stagewright::pipeline

#endif // STAGEWRIGHT_LIB_DIALECT_PIPELINE_TRANSFORMS_SHARD_STAGES_H
