//===- PlacementData.cpp - the ranks of a program's stages ----------------===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "stagewright/Analysis/PlacementData.h"
#include "HandedOver.h"
#include "stagewright/Analysis/ClusterData.h"
#include "stagewright/Analysis/GraphProblem.h"
#include "stagewright/Analysis/PlanData.h"
#include "stagewright/Scheduling/Replicas.h"
#include "llvm/ADT/SetVector.h"
#include "llvm/ADT/StringMap.h"

namespace stagewright::pipeline {

static auto stagesOf(ProgramOp program) {
  return program.getBody().front().getOps<StageOp>();
}

SmallVector<StringRef> devicesOfRanks(ProgramOp program) {
  llvm::SmallSetVector<StringRef, 16> devices;
  for (StageOp stage : stagesOf(program))
    if (!stage.getDevices().empty())
      devices.insert(cast<FlatSymbolRefAttr>(stage.getDevices()[0]).getValue());
  // Other devices, of replicas that take microbatches in turn, come last.
  for (StageOp stage : stagesOf(program))
    for (auto device : stage.getDevices().getAsRange<FlatSymbolRefAttr>())
      if (!stage.getRows())
        devices.insert(device.getValue());
  return devices.takeVector();
}

std::vector<std::vector<int64_t>> ranksOfStages(ProgramOp program) {
  llvm::StringMap<int64_t> rankOf;
  for (auto [rank, device] : llvm::enumerate(devicesOfRanks(program)))
    rankOf[device] = int64_t(rank);
  std::vector<std::vector<int64_t>> ranks;
  for (StageOp stage : stagesOf(program)) {
    ranks.emplace_back();
    for (auto device : stage.getDevices().getAsRange<FlatSymbolRefAttr>()) {
      ranks.back().push_back(rankOf[device.getValue()]);
      if (stage.getRows())
        break;
    }
  }
  return ranks;
}

GangStages gangStagesOf(ProgramOp program) {
  GangStages stated;
  for (StageOp stage : stagesOf(program))
    stated.push_back(stage.getGangStage());
  return stated;
}

bool hasReplicas(ProgramOp program) {
  return areReplicas(ranksOfStages(program));
}

FailureOr<StagePlacement> placementOf(ProgramOp program) {
  if (stagesOf(program).empty())
    return program.emitOpError() << "has no stages";
  std::vector<std::vector<int64_t>> ranks = ranksOfStages(program);
  if (hasReplicas(program)) // First devices have the first ranks.
    for (std::vector<int64_t> &stage : ranks)
      stage.resize(1);
  Result<StagePlacement> where = stagewright::placementOf(ranks);
  if (where)
    return *where;
  for (StageOp stage : stagesOf(program))
    if (stage.getDevices().size() != 1)
      return emitError(stage.getLoc()) << where.error().message;
  return emitError(program.getLoc()) << where.error().message;
}

namespace {
/// A program in the planner's data structures.
struct Planned {
  Problem problem;
  std::vector<StagePlan> stages;
};
} // namespace

/// Sets the levels of `stage` to those of `op` if the graph still has levels;
/// if it has none, its nodes are already those of the chosen levels.
static void addLevels(StageOp op, const Problem &problem, StagePlan &stage) {
  std::optional<ArrayRef<int64_t>> levels = op.getLevels();
  if (!levels || problem.mostLevels() == 0)
    return;
  llvm::DenseMap<int64_t, int64_t> levelOf;
  for (auto [layer, level] : llvm::zip(op.getLayers(), *levels))
    levelOf[layer] =
        std::min(level, int64_t(problem.layers[layer].levels.size()));
  for (int64_t layer : stage.layers)
    stage.levels.push_back(levelOf[layer]);
}

static FailureOr<Planned> plannedOf(ProgramOp program) {
  Cluster cluster = readCluster(clusterOf(program));
  if (Status status = cluster.check(); !status)
    return emitError(clusterOf(program).getLoc()) << status.error().message;
  FailureOr<Problem> problem = problemOf(graphOf(program), cluster);
  if (failed(problem))
    return failure();
  problem->microbatches = program.getMicrobatches();
  if (llvm::any_of(stagesOf(program),
                   [](StageOp stage) { return stage.getRows().has_value(); }))
    shareMicrobatches(graphOf(program), *problem);
  llvm::StringMap<size_t> numberOf;
  for (auto [number, device] : llvm::enumerate(cluster.devices))
    numberOf[device.name] = number;
  Planned planned = {std::move(*problem), {}};
  for (StageOp op : stagesOf(program)) {
    StagePlan stage;
    stage.layers.assign(op.getLayers().begin(), op.getLayers().end());
    llvm::sort(stage.layers);
    for (auto device : op.getDevices().getAsRange<FlatSymbolRefAttr>())
      stage.devices.push_back(numberOf[device.getValue()]);
    stage.recompute = op.getRecompute();
    if (auto offload = op.getOffload())
      stage.offload.assign(offload->begin(), offload->end());
    addLevels(op, planned.problem, stage);
    if (auto rows = op.getRows())
      stage.rows.assign(rows->begin(), rows->end());
    planned.stages.push_back(std::move(stage));
  }
  return planned;
}

/// The network of `planned`, whose stages then do not recompute: orders contain
/// recomputation as actions R.
static FailureOr<Network> networkOf(ProgramOp program, Planned &planned) {
  for (StagePlan &stage : planned.stages)
    stage.recompute = false;
  Result<Network> network = Network::create(planned.problem.cluster);
  if (!network)
    return emitError(clusterOf(program).getLoc()) << network.error().message;
  return std::move(*network);
}

FailureOr<ScheduleProblem> scheduleProblemOf(ProgramOp program) {
  FailureOr<StagePlacement> where = placementOf(program);
  if (failed(where))
    return failure();
  FailureOr<Planned> planned = plannedOf(program);
  if (failed(planned))
    return failure();
  FailureOr<Network> network = networkOf(program, *planned);
  if (failed(network))
    return failure();
  Result<ScheduleProblem> problem = stagewright::scheduleProblemOf(
      planned->problem, *network, planned->stages, *where);
  if (!problem)
    return emitError(program.getLoc()) << problem.error().message;
  return *problem;
}

FailureOr<CreditCosts> creditCostsOf(ProgramOp program,
                                     const Schedule &schedule,
                                     const StageGraph &graph, bool ofShards) {
  FailureOr<Planned> planned = plannedOf(program);
  if (failed(planned))
    return failure();
  FailureOr<Network> network = networkOf(program, *planned);
  if (failed(network))
    return failure();
  planned->problem.model.sharesRings = ofShards;
  countTemporariesOfStages(graphOf(program), stageOfLayers(program),
                           planned->problem);
  Result<CreditMemory> memory = stagewright::creditMemoryOf(
      planned->problem, planned->stages, ranksOfStages(program), schedule);
  if (!memory)
    return emitError(program.getLoc()) << memory.error().message;
  return CreditCosts{
      stepTimesOf(planned->problem, *network, planned->stages, graph),
      std::move(*memory)};
}

} // namespace stagewright::pipeline
