//===- GraphProblem.h - a graph as a planning problem -----------*- C++ -*-===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Converts a `pipeline.graph` to the plain data of Planning/Problem.h: layers
// with the seconds of their nodes, values between nodes, and resident memory.
//
//===----------------------------------------------------------------------===//

#ifndef STAGEWRIGHT_ANALYSIS_GRAPHPROBLEM_H
#define STAGEWRIGHT_ANALYSIS_GRAPHPROBLEM_H

#include "stagewright/Dialect/Pipeline/IR/Pipeline.h"
#include "stagewright/Planning/Plan.h"

namespace stagewright::pipeline {

/// Number of microbatches of a step if neither options nor the module state it.
inline constexpr int64_t kDefaultMicrobatches = 8;

/// The number of microbatches of a step that an attribute of `module` states;
/// none if there is no such attribute.
std::optional<int64_t> statedMicrobatches(mlir::ModuleOp module);

/// Returns a problem on `cluster` with layers, values, residents and
/// forwardOnly of `graph`. Its orders are those of kProgramOrders, which
/// can be lowered. Seconds of a device class come from the nodes' costs, else
/// from those of the class `profiled`, divided by the device's speed, else from
/// the roofline. A node with none of these is an error.
mlir::FailureOr<Problem> problemOf(GraphOp graph, const Cluster &cluster);

/// Fills `samples`, which decides how replicas of a stage may share the
/// microbatches of `graph`, and the sampleTemporaries of layers and levels.
/// pipeline-infer-sliceable must have run. If a layer cannot be sliced,
/// replicas take turns.
void shareMicrobatches(GraphOp graph, Problem &problem);

/// The stages of `program` on their devices, as evaluate() needs them, and the
/// order that it was planned for.
Plan planOf(ProgramOp program);

} // namespace stagewright::pipeline

#endif // STAGEWRIGHT_ANALYSIS_GRAPHPROBLEM_H
