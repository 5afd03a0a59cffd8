//===- Stash.h - what a forward keeps for its backward ----------*- C++ -*-===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A backward reads values of the forward. Each is kept (stashed) or computed
// again from what is kept. The best choice for a layer is a minimum cut between
// what the forward has and what the backward reads, as in T. Jain et al.'s
// min-cut rematerialisation of joint graphs (PyTorch's AOTAutograd): cutting a
// value keeps it, cutting an operation repeats it. Reductions and gathers are
// never repeated; arguments are kept anyway.
//
// A contraction is repeated only if its result is many times larger than its
// operands, as the scores of attention over a long sequence are (S x S from S x
// d). By time alone they would rather be kept: at d = 64 they cost 128
// operations an element to make and 32 to keep. But they are what limits the
// length of a sequence, in every layer and microbatch in flight; so such a
// contraction is priced at one operation a byte, and rows are kept instead (the
// idea of Dao et al., "FlashAttention", 2022), unless it would take twenty
// times the time of keeping, as the logits of a large vocabulary do. Where
// attention is one operation (pipeline.attention) its output and statistics are
// kept, as it is never repeated: there are no scores.
//
// Where a value lies in memory anyway (Keep::Written) keeping it takes no time.
// A forward writes what another kernel of it reads: operands of contractions,
// their results, what lives while one runs, and what another layer reads. What
// is left, element by element between them, is kept where that is cheaper.
//
// Operations that need forward values only but feed only the backward (factors:
// 1 - tanh(x)^2) lie on either side of the cut at no cost: where fewer bytes
// are kept.
//
//===----------------------------------------------------------------------===//

#ifndef STAGEWRIGHT_ANALYSIS_STASH_H
#define STAGEWRIGHT_ANALYSIS_STASH_H

#include "stagewright/Analysis/Layers.h"
#include "llvm/ADT/DenseSet.h"

namespace stagewright::pipeline {

/// What a forward keeps for its backward.
enum class Keep {
  /// The least bytes that repeating cheap work leaves.
  Least,
  /// What the forward has written to memory anyway, which takes no time: the
  /// backward is fastest, and where memory is short levels of computing again
  /// (RecomputeCuts.h) take from it. No contraction is repeated.
  Written,
};

/// What keeping and repeating cost.
struct StashPrices {
  Keep keep = Keep::Least;

  /// Keeping a byte, in scalar operations: it is written once and read once. A
  /// core of 64 GFLOP/s and 10 GB/s does 6.4 in the time of one byte; the
  /// cluster preset "local" makes it 8.
  int64_t flopsPerByte = 13;
  /// How many times larger than its operands the result of a contraction that
  /// is repeated must be; 0: none is. With Keep::Least.
  int64_t repeatRatio = 4;
};

/// What one layer keeps and repeats.
struct LayerStash {
  /// Values kept, in program order, and operations repeated.
  std::vector<mlir::Value> kept;
  std::vector<unsigned> repeated;
  int64_t keptBytes = 0, readBytes = 0;
};

/// Where forward work for the backward is done. Per operation of the step
/// graph.
struct Stash {
  /// A forward operation that the backward of its layer does again, or a factor
  /// that it does there.
  std::vector<bool> inBackward;
  /// A factor that the forward of its layer computes.
  std::vector<bool> movedToForward;
  /// Per layer: values of free operations that its forward keeps for its
  /// backward.
  std::vector<llvm::DenseSet<mlir::Value>> keptFree;
  /// Bytes kept, and bytes the backward reads in all.
  int64_t keptBytes = 0, readBytes = 0;
  std::vector<LayerStash> layers;
};

/// Chooses for every layer. `roots`: values that must come out of the backward
/// (gradients and their parts).
Stash chooseStash(const StepGraph &graph, const Layers &layers,
                  llvm::ArrayRef<mlir::Value> roots, StashPrices prices = {});

/// The choice for people: an array with a dictionary for every layer, of its
/// name (`layer`), the bytes `kept` of those `read`, and what it `keeps` and
/// `repeats`, each an array of strings such as `exp 4x4x128x128xf32`.
mlir::ArrayAttr describeStash(const StepGraph &graph, const Layers &layers,
                              const Stash &stash);

} // namespace stagewright::pipeline

#endif // STAGEWRIGHT_ANALYSIS_STASH_H
