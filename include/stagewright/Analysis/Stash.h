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
// d). If only time counted, keeping the scores would be better: at d = 64,
// computing one costs 128 operations, and keeping it costs as much time as 32.
// But their bytes, in every layer and microbatch in flight, limit the sequence
// length. So repeating such a contraction is priced at only one operation per
// byte, and the statistics of its rows are kept (as in Dao et al.,
// "FlashAttention", 2022), unless repeating it would take twenty times the time
// of keeping its result, as for the logits of a large vocabulary. If attention
// is one operation (pipeline.attention), its output and statistics are kept: it
// is never repeated and has no scores.
//
// Keeping a value that is written to memory anyway (StashKeep::Written) takes
// no time. A forward writes the values that another of its kernels reads:
// operands and results of contractions, values live across one, results of
// reductions and other heavy work, and values that another layer reads.
// Elementwise values between them are kept if that is cheaper.
//
// Operations that read only forward values but are read only by the backward
// (factors: 1 - tanh(x)^2) may be on either side of the cut at no cost; the
// side is chosen so that fewer bytes are kept.
//
//===----------------------------------------------------------------------===//

#ifndef STAGEWRIGHT_ANALYSIS_STASH_H
#define STAGEWRIGHT_ANALYSIS_STASH_H

#include "stagewright/Analysis/Layers.h"
#include "llvm/ADT/DenseSet.h"

namespace stagewright::pipeline {

/// What a forward keeps for its backward.
enum class StashKeep {
  /// As few bytes as repeating cheap work allows.
  Least,
  /// The values that the forward writes to memory anyway. Keeping them takes no
  /// time, so the backward is fastest; if memory is short, levels of
  /// recomputation (RecomputeCuts.h) reduce them. Repeats no contraction.
  Written,
};

/// The costs of keeping and repeating.
struct StashPrices {
  StashKeep keep = StashKeep::Least;

  /// Cost of keeping a byte, in scalar operations: it is written once and read
  /// once. A core of 64 GFLOP/s and 10 GB/s does 6.4 operations in the time of
  /// moving one byte, so the default is 13; with the rates of the cluster
  /// preset "local" the cost is 8.
  int64_t flopsPerByte = 13;
  /// Min ratio of the bytes of a contraction's result to those of its operands
  /// for it to be repeated; 0: none is. Used with StashKeep::Least.
  int64_t repeatRatio = 4;
};

/// What one layer keeps and repeats.
struct LayerStash {
  /// Values kept, in program order, and operations repeated.
  std::vector<mlir::Value> kept;
  std::vector<unsigned> repeated;
  int64_t keptBytes = 0, readBytes = 0;
};

/// Where the operations run that only the backward needs, or that are repeated
/// for it. Bit vectors have an entry per operation of the step graph.
struct Stash {
  /// A forward operation that the backward of its layer repeats, or a factor
  /// that the backward computes.
  std::vector<bool> inBackward;
  /// A factor that the forward of its layer computes.
  std::vector<bool> movedToForward;
  /// Per layer: results of operations marked StepOp::free (every node may have
  /// its own copy of them) that its forward keeps for its backward.
  std::vector<llvm::DenseSet<mlir::Value>> keptFree;
  /// Bytes kept, and total bytes of forward values that the backward reads.
  int64_t keptBytes = 0, readBytes = 0;
  std::vector<LayerStash> layers;
};

/// Makes the choice for every layer. `roots`: values that the backward must
/// produce (gradients and their parts).
Stash chooseStash(const StepGraph &graph, const Layers &layers,
                  llvm::ArrayRef<mlir::Value> roots, StashPrices prices = {});

/// A readable form of the choice: an array with a dictionary for every layer,
/// with its name (`layer`), the bytes that its forward keeps (`kept`), those of
/// the forward values that its backward reads (`read`), and what it `keeps` and
/// `repeats`, as arrays of strings such as `exp 4x4x128x128xf32`.
mlir::ArrayAttr describeStash(const StepGraph &graph, const Layers &layers,
                              const Stash &stash);

} // namespace stagewright::pipeline

#endif // STAGEWRIGHT_ANALYSIS_STASH_H
