//===- PlanData.h - programs and schedules as plain data --------*- C++ -*-===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Converts the pipeline dialect to the plain data of Scheduling: the stage of a
// node, the values that cross between stages, the orders in a schedule's text.
// No function changes the IR.
//
//===----------------------------------------------------------------------===//

#ifndef STAGEWRIGHT_ANALYSIS_PLANDATA_H
#define STAGEWRIGHT_ANALYSIS_PLANDATA_H

#include "stagewright/Dialect/Pipeline/IR/Pipeline.h"
#include "stagewright/Scheduling/Generators.h"
#include "stagewright/Scheduling/StageGraph.h"

namespace stagewright::pipeline {

/// The graph, the cluster or the program that an operation refers to. The
/// verifiers prove that they exist.
GraphOp graphOf(ProgramOp program);
ClusterOp clusterOf(ProgramOp program);
ProgramOp programOf(ScheduleOp schedule);

/// Whether `graph` has no node of phase I, W or B: an inference graph.
bool isForwardOnly(GraphOp graph);

/// Whether `graph` has nodes of phase B, so that its backward is one action.
bool hasWholeBackward(GraphOp graph);

/// Whether every node of `graph` has a cost.
bool hasCosts(GraphOp graph);

/// The stage of each layer of the program's graph.
llvm::SmallVector<int64_t> stageOfLayers(ProgramOp program);

/// The phase of a stage in which nodes of `phase` run. B counts as I, because a
/// whole backward makes the gradient that earlier stages wait for.
ActionKind actionPhase(ActionKind phase);

/// A value that is made on one stage and used on another.
struct Crossing {
  mlir::OpResult value; ///< Result of a NodeOp.
  StageEdge edge;       ///< Depth 0.
};

/// All crossings of `graph`, given the stage of each layer, sorted by node,
/// result and receiving stage. A value used by two other stages crosses twice.
llvm::SmallVector<Crossing> crossingsOf(GraphOp graph,
                                        llvm::ArrayRef<int64_t> stageOfLayer);

/// The crossings of `program` as a graph of stages, in the order of
/// crossingsOf().
StageGraph stageGraphOf(ProgramOp program);

/// The orders of `schedule`.
Schedule readSchedule(ScheduleOp schedule);

/// Reports `error` at `loc`, with its notes, and fails.
mlir::LogicalResult emitWithNotes(mlir::Location loc, const Error &error);

/// Proves `schedule` for its program: one order per rank, every action on a
/// rank that has its stage, what Scheduling/Verify.h proves, and that its
/// credits, if it states any, suffice.
mlir::LogicalResult verifySchedule(ScheduleOp schedule);

/// The schedule as a function of the number of microbatches: the generator that
/// `kind` names. It is an error if that is not for any number of microbatches,
/// or if an order, edited by hand, differs from the generator's.
mlir::FailureOr<ScheduleFamily> familyOf(ScheduleOp schedule);

} // namespace stagewright::pipeline

#endif // STAGEWRIGHT_ANALYSIS_PLANDATA_H
