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
// value keeps it, cutting an operation repeats it. Reductions, contractions and
// gathers are never repeated; arguments are kept anyway.
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
};

/// Chooses for every layer. `roots`: values that must come out of the backward
/// (gradients and their parts).
Stash chooseStash(const StepGraph &graph, const Layers &layers,
                  llvm::ArrayRef<mlir::Value> roots);

} // namespace stagewright::pipeline

#endif // STAGEWRIGHT_ANALYSIS_STASH_H
