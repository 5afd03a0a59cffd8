//===- GraphLevels.h - recomputation levels of a graph's layers -*- C++ -*-===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Converts the levels of recomputation of forward nodes (`levels`) to a
// planner's problem: the values used at each level, and the recomputation time.
//
//===----------------------------------------------------------------------===//

#ifndef STAGEWRIGHT_LIB_ANALYSIS_GRAPHLEVELS_H
#define STAGEWRIGHT_LIB_ANALYSIS_GRAPHLEVELS_H

#include "stagewright/Dialect/Pipeline/IR/Pipeline.h"
#include "stagewright/Planning/Problem.h"

namespace stagewright::pipeline {

/// The number in Problem::values of each result of a node.
using ValueNumbers = llvm::DenseMap<mlir::Value, size_t>;

/// Bytes that `node` gets from a neighbour on the same device and that are not
/// kept.
int64_t takenOver(NodeOp node);

/// Bytes that a device needs while `node` runs with this workspace, in addition
/// to kept values, if its neighbours run on the same device; 0: unknown.
int64_t temporariesOf(NodeOp node, std::optional<int64_t> workspace);
/// The same for one of the `samples` samples of a microbatch.
int64_t sampleTemporariesOf(NodeOp node, std::optional<int64_t> workspace,
                            int64_t samples);

/// Sets Layer::temporaries, given the stage of each layer: what nodes of other
/// stages pass lies in rings, even if they run on the same device.
void countTemporariesOfStages(GraphOp graph, ArrayRef<int64_t> stages,
                              Problem &problem);

/// Adds the levels of all layers to `problem`, whose values must be those of
/// level 0.
void addLevels(GraphOp graph, const ValueNumbers &values, Problem &problem);

/// Fills RecomputeLevel::sampleTemporaries, once the samples are known.
void addSampleTemporaries(GraphOp graph, Problem &problem);

} // namespace stagewright::pipeline

#endif // STAGEWRIGHT_LIB_ANALYSIS_GRAPHLEVELS_H
