//===- Choose.h - which parameters are worth splitting ----------*- C++ -*-===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Dimensions that have to be split together (Analysis/Linkage.h) are one
// choice. Splitting them saves a part of the arithmetic of every loop that they
// are, and costs a sum over the shards of what such a loop adds up, and a join
// of what an operation needs whole. One operation has one split loop, so
// classes that meet in an operation exclude each other; of the sets without two
// that do, the one that saves the most time is looked for, by exchanges from a
// greedy one. For a transformer it is Megatron-LM's: heads, hidden units, the
// vocabulary.
//
//===----------------------------------------------------------------------===//

#ifndef STAGEWRIGHT_LIB_DIALECT_PIPELINE_TRANSFORMS_SHARD_CHOOSE_H
#define STAGEWRIGHT_LIB_DIALECT_PIPELINE_TRANSFORMS_SHARD_CHOOSE_H

#include "Layout.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "stagewright/Analysis/StepGraph.h"
#include "stagewright/Cost/Cluster.h"

namespace stagewright::pipeline {

/// The devices and links that shards have.
struct ShardRates {
  Device device;
  double bandwidth = 0; ///< Bytes a second from a shard to the others.
  double latency = 0;   ///< Seconds of a message.
};

/// Of the first `ways` devices of `cluster`: the slowest device, link and
/// latency among them. Fails where there are fewer, or some are not joined.
Result<ShardRates> ratesOf(const Cluster &cluster, int64_t ways);

/// What was chosen.
struct ShardChoice {
  /// Seconds of a microbatch on one device, what the shards save of it, and
  /// what they take for sums and joins, both as estimated.
  double all = 0, saved = 0, spent = 0;
};

/// Sets the layouts of those arguments of the step that `open` numbers; the
/// others are as `layouts` says.
ShardChoice chooseLayouts(const StepGraph &graph, int64_t ways,
                          const ShardRates &rates,
                          llvm::ArrayRef<unsigned> open,
                          llvm::MutableArrayRef<Layout> layouts);

} // namespace stagewright::pipeline

#endif // STAGEWRIGHT_LIB_DIALECT_PIPELINE_TRANSFORMS_SHARD_CHOOSE_H
