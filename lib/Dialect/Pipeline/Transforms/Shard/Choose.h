//===- Choose.h - which parameters are worth splitting ----------*- C++ -*-===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Dimensions that must be split together (Analysis/Linkage.h) form a class.
// Splitting a class reduces the arithmetic of every loop over it. It costs a
// sum over the shards where a loop reduces over it, and a join where an
// operation needs a whole value. An operation has one split loop, so classes of
// the same operation exclude each other. Among the sets without two such
// classes, the one that saves the most time is searched for, by exchanges from
// two greedy sets. If no class saves time, those with the most bytes of
// parameters for each second of cost are taken. For a transformer the result is
// Megatron-LM's: heads, hidden units, the vocabulary.
//
//===----------------------------------------------------------------------===//

#ifndef STAGEWRIGHT_LIB_DIALECT_PIPELINE_TRANSFORMS_SHARD_CHOOSE_H
#define STAGEWRIGHT_LIB_DIALECT_PIPELINE_TRANSFORMS_SHARD_CHOOSE_H

#include "Layout.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "stagewright/Analysis/StepGraph.h"
#include "stagewright/Cost/Cluster.h"

namespace stagewright::pipeline {

/// The rates of the devices and links of the shards.
struct ShardRates {
  Device device;
  double bandwidth = 0; ///< Bytes per second, from shard to shard.
  double latency = 0;   ///< Seconds per message.
};

/// The slowest device, the min bandwidth and the max latency among the first
/// `ways` devices of `cluster`. Fails if there are fewer devices, or some are
/// not connected.
Result<ShardRates> ratesOf(const Cluster &cluster, int64_t ways);

/// Estimated times of the chosen layouts.
struct ShardChoice {
  /// Seconds per microbatch: on one device, saved by shards, and spent by
  /// shards on sums and joins.
  double all = 0, saved = 0, spent = 0;
};

/// Chooses the layouts of the arguments of the step whose numbers are in
/// `open`, and writes them to `layouts`; its other entries are given.
ShardChoice chooseLayouts(const StepGraph &graph, int64_t ways,
                          const ShardRates &rates,
                          llvm::ArrayRef<unsigned> open,
                          llvm::MutableArrayRef<Layout> layouts);

} // namespace stagewright::pipeline

#endif // STAGEWRIGHT_LIB_DIALECT_PIPELINE_TRANSFORMS_SHARD_CHOOSE_H
