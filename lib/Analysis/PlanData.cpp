//===- PlanData.cpp - programs and schedules as plain data ----------------===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "stagewright/Analysis/PlanData.h"
#include "stagewright/Analysis/PlacementData.h"
#include "stagewright/Scheduling/ReadyFirst.h"
#include "stagewright/Scheduling/Verify.h"
#include "llvm/ADT/STLExtras.h"
#include <map>

namespace stagewright::pipeline {

GraphOp graphOf(ProgramOp program) {
  return SymbolTable::lookupNearestSymbolFrom<GraphOp>(program,
                                                       program.getGraphAttr());
}

ClusterOp clusterOf(ProgramOp program) {
  return SymbolTable::lookupNearestSymbolFrom<ClusterOp>(
      program, program.getClusterAttr());
}

ProgramOp programOf(ScheduleOp schedule) {
  return SymbolTable::lookupNearestSymbolFrom<ProgramOp>(
      schedule, schedule.getProgramAttr());
}

bool isForwardOnly(GraphOp graph) {
  return llvm::all_of(
      graph.getBody().front().getOps<NodeOp>(),
      [](NodeOp node) { return node.getPhase() == ActionKind::Forward; });
}

bool hasWholeBackward(GraphOp graph) {
  return llvm::any_of(
      graph.getBody().front().getOps<NodeOp>(),
      [](NodeOp node) { return node.getPhase() == ActionKind::Backward; });
}

bool hasCosts(GraphOp graph) {
  return llvm::all_of(
      graph.getBody().front().getOps<NodeOp>(),
      [](NodeOp node) { return static_cast<bool>(node.getCostAttr()); });
}

SmallVector<int64_t> stageOfLayers(ProgramOp program) {
  SmallVector<int64_t> stages(graphOf(program).getNumLayers(), 0);
  for (StageOp stage : program.getBody().front().getOps<StageOp>())
    for (int64_t layer : stage.getLayers())
      stages[layer] = stage.getIndex();
  return stages;
}

ActionKind actionPhase(ActionKind phase) {
  return phase == ActionKind::Backward ? ActionKind::InputGradient : phase;
}

/// F, then I, then W: the order in which a stage runs its phases.
static int phaseOrder(ActionKind phase) {
  return phase == ActionKind::Forward         ? 0
         : phase == ActionKind::InputGradient ? 1
                                              : 2;
}

SmallVector<Crossing> crossingsOf(GraphOp graph,
                                  ArrayRef<int64_t> stageOfLayer) {
  SmallVector<Crossing> crossings;
  for (NodeOp node : graph.getBody().front().getOps<NodeOp>()) {
    int64_t from = stageOfLayer[node.getLayer()];
    for (OpResult value : node->getResults()) {
      std::map<int64_t, StageEdge> edges; // By receiving stage, in order.
      for (Operation *user : value.getUsers()) {
        auto consumer = dyn_cast<NodeOp>(user);
        if (!consumer || stageOfLayer[consumer.getLayer()] == from)
          continue;
        StagePhase use = {actionPhase(consumer.getPhase()),
                          stageOfLayer[consumer.getLayer()]};
        auto [entry, isNew] = edges.try_emplace(
            use.stage,
            StageEdge{{actionPhase(node.getPhase()), from}, use, use});
        StageEdge &edge = entry->second;
        if (phaseOrder(use.phase) < phaseOrder(edge.firstUse.phase))
          edge.firstUse = use;
        if (phaseOrder(use.phase) > phaseOrder(edge.lastUse.phase))
          edge.lastUse = use;
      }
      for (const auto &[stage, edge] : edges)
        crossings.push_back({value, edge});
    }
  }
  return crossings;
}

StageGraph stageGraphOf(ProgramOp program) {
  StageGraph result;
  result.stages = llvm::range_size(program.getBody().front().getOps<StageOp>());
  GraphOp graph = graphOf(program);
  result.forwardOnly = isForwardOnly(graph);
  for (const Crossing &crossing : crossingsOf(graph, stageOfLayers(program)))
    result.edges.push_back(crossing.edge);
  return result;
}

Schedule readSchedule(ScheduleOp schedule) {
  ProgramOp program = programOf(schedule);
  Schedule result;
  result.kind = schedule.getKind().str();
  result.microbatches = program.getMicrobatches();
  result.stages = llvm::range_size(program.getBody().front().getOps<StageOp>());
  for (OrderOp op : schedule.getBody().front().getOps<OrderOp>())
    result.ranks.push_back(op.getActions());
  return result;
}

/// Checks that every rank has an order, and that every action is on a rank of
/// its stage.
static LogicalResult verifyRanks(ScheduleOp schedule, const Schedule &data) {
  ProgramOp program = programOf(schedule);
  SmallVector<StringRef> devices = devicesOfRanks(program);
  if (data.ranks.size() != devices.size())
    return emitError(schedule.getLoc())
           << "orders " << data.ranks.size() << " ranks, its program has "
           << devices.size();
  std::vector<std::vector<int64_t>> ranks = ranksOfStages(program);
  auto stages = llvm::to_vector(program.getBody().front().getOps<StageOp>());
  for (auto [rank, order] : llvm::enumerate(data.ranks))
    for (const Action &action : order)
      if (!llvm::is_contained(ranks[action.stage], int64_t(rank)))
        return (emitError(schedule.getLoc())
                << "runs stage " << action.stage << " on rank " << rank
                << ", device @" << devices[rank] << ", where it does not lie")
                   .attachNote(stages[action.stage].getLoc())
               << "the stage is declared here; ranks are counted by the "
                  "stages' "
                  "first devices";
  return success();
}

LogicalResult emitWithNotes(Location loc, const Error &error) {
  InFlightDiagnostic diagnostic = emitError(loc, error.message);
  for (const std::string &note : error.notes)
    diagnostic.attachNote() << note;
  return diagnostic;
}

LogicalResult verifySchedule(ScheduleOp schedule) {
  Schedule data = readSchedule(schedule);
  StageGraph graph = stageGraphOf(programOf(schedule));
  Status status = verify(data, graph);
  if (std::optional<ArrayRef<int64_t>> credits = schedule.getCredits();
      credits && status)
    status = checkCredits(graph, credits->vec()); // schedule_c3
  if (!status)
    return emitWithNotes(schedule.getLoc(), status.error());
  return verifyRanks(schedule, data);
}

FailureOr<ScheduleFamily> familyOf(ScheduleOp schedule) {
  Schedule data = readSchedule(schedule);
  Result<Generator> generator = findGenerator(data.kind);
  if (!generator) {
    emitError(schedule.getLoc(), generator.error().message);
    return failure();
  }
  if (!generator->anyMicrobatches) {
    emitError(schedule.getLoc())
        << "kind '" << data.kind
        << "' runs only with the number of microbatches "
        << "for which it is generated; use 1f1b";
    return failure();
  }
  bool forwardOnly = isForwardOnly(graphOf(programOf(schedule)));
  ScheduleFamily family =
      stagewright::familyOf(*generator, data.stages, forwardOnly);
  Schedule expected = family(data.microbatches);
  if (data.ranks.size() != expected.ranks.size()) {
    emitError(schedule.getLoc())
        << "schedule orders " << data.ranks.size() << " ranks, kind '"
        << data.kind << "' has " << expected.ranks.size()
        << "; run pipeline-schedule again";
    return failure();
  }
  for (auto [rank, order] : llvm::enumerate(data.ranks))
    if (order != expected.ranks[rank]) {
      emitError(schedule.getLoc())
          << "rank " << rank << " does not run in the order of kind '"
          << data.kind << "'; an order edited by hand is for "
          << data.microbatches << " microbatches only";
      return failure();
    }
  return family;
}

} // namespace stagewright::pipeline
