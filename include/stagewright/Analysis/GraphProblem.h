//===- GraphProblem.h - a graph as a planning problem -----------*- C++ -*-===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The bridge from `pipeline.graph` to Planning/Problem.h: layers with the
// seconds of their nodes, values between nodes, and what stays in memory.
//
//===----------------------------------------------------------------------===//

#ifndef STAGEWRIGHT_ANALYSIS_GRAPHPROBLEM_H
#define STAGEWRIGHT_ANALYSIS_GRAPHPROBLEM_H

#include "stagewright/Dialect/Pipeline/IR/Pipeline.h"
#include "stagewright/Planning/Problem.h"

namespace stagewright::pipeline {

/// Of a step, where neither options nor module say it.
inline constexpr int64_t kDefaultMicrobatches = 8;

/// Of a step, as `module` says.
std::optional<int64_t> statedMicrobatches(mlir::ModuleOp module);

/// Fills layers, values, residents and forwardOnly of a problem on `cluster`;
/// orders are those of kSimulatedSchedules, which can be lowered. Seconds come
/// from the nodes' costs, by the roofline where a class is missing; a node
/// without a cost is an error.
mlir::FailureOr<Problem> problemOf(GraphOp graph, const Cluster &cluster);

/// Whether a result of `graph` is joined over microbatches, so that no stage
/// takes turns with it.
bool joinsResults(GraphOp graph);

/// How replicas of a stage could share the microbatches of `graph`, which has
/// said what can be sliced (pipeline-infer-sliceable): fills samples. Where
/// some layer cannot be, so that replicas would take turns, but a result is
/// joined over microbatches, stages get one device each.
void shareMicrobatches(GraphOp graph, Problem &problem);

} // namespace stagewright::pipeline

#endif // STAGEWRIGHT_ANALYSIS_GRAPHPROBLEM_H
