//===- GraphLevels.h - levels of a graph's layers ---------------*- C++ -*-===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What the levels that forward nodes offer (`levels`) mean for a planner: which
// values are used at which level, and what computing again takes.
//
//===----------------------------------------------------------------------===//

#ifndef STAGEWRIGHT_LIB_ANALYSIS_GRAPHLEVELS_H
#define STAGEWRIGHT_LIB_ANALYSIS_GRAPHLEVELS_H

#include "stagewright/Dialect/Pipeline/IR/Pipeline.h"
#include "stagewright/Planning/Problem.h"

namespace stagewright::pipeline {

/// Of results of nodes in the values of a problem.
using ValueNumbers = llvm::DenseMap<mlir::Value, size_t>;

/// Bytes that `node` gets from a neighbour on the same device and nobody keeps.
int64_t takenOver(NodeOp node);

/// Bytes that a device needs while `node` runs with so much workspace, beside
/// what is kept, where its neighbours run on the same device; 0: not known.
int64_t temporariesOf(NodeOp node, std::optional<int64_t> workspace);
/// The same for one of `samples`.
int64_t sampleTemporariesOf(NodeOp node, std::optional<int64_t> workspace,
                            int64_t samples);

/// Adds the levels of all layers to `problem`, which has the values as they are
/// at level 0.
void addLevels(GraphOp graph, const ValueNumbers &values, Problem &problem);

/// Fills RecomputeLevel::sampleTemporaries, once the samples are known.
void addSampleTemporaries(GraphOp graph, Problem &problem);

} // namespace stagewright::pipeline

#endif // STAGEWRIGHT_LIB_ANALYSIS_GRAPHLEVELS_H
