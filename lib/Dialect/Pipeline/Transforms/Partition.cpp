//===- Partition.cpp - pipeline-partition ---------------------------------===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "WriteProgram.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "stagewright/Analysis/ClusterData.h"
#include "stagewright/Analysis/GraphProblem.h"
#include "stagewright/Analysis/PlanData.h"
#include "stagewright/Analysis/ShardPlace.h"
#include "stagewright/Dialect/Pipeline/Transforms/EnsureGraph.h"
#include "stagewright/Dialect/Pipeline/Transforms/Passes.h"
#include "stagewright/Planning/Request.h"
#include "stagewright/Scheduling/Generators.h"
#include <map>

namespace stagewright::pipeline {
#define GEN_PASS_DEF_PARTITION
#include "stagewright/Dialect/Pipeline/Transforms/Passes.h.inc"

/// The cluster if neither options nor module give one.
static constexpr StringLiteral kDefaultCluster = "local:2";

/// Counts the values that repeated forwards (pipeline-repeat-layers) pass to
/// layers of their own shard as temporaries of the layers that are repeated
/// together: these values do not go through the rings of messages, and a shard
/// needs them for one microbatch at a time.
static void holdRepeated(Problem &problem) {
  std::vector<ShardPlace> places;
  std::map<std::string, int64_t> numbers;
  for (auto [number, layer] : llvm::enumerate(problem.layers)) {
    places.push_back(shardPlaceOf(layer.name));
    numbers[layer.name] = int64_t(number);
  }
  // For each layer that repeats a forward: the first of the consecutive ones.
  std::vector<int64_t> firsts(places.size());
  for (size_t layer = 0; layer < places.size(); ++layer)
    firsts[layer] = layer > 0 && places[layer].again && places[layer - 1].again
                        ? firsts[layer - 1]
                        : int64_t(layer);
  std::map<std::pair<int64_t, int64_t>, Bytes> held; // By first and shard.
  for (stagewright::LayerValue &value : problem.values) {
    const ShardPlace &from = places[size_t(value.producer.layer)];
    bool isLate = llvm::any_of(value.uses, [](const LayerPhase &use) {
      return use.phase == ActionKind::WeightGradient;
    });
    if (!from.again || isLate) // A schedule may delay W.
      continue;
    size_t uses = value.uses.size();
    std::erase_if(value.uses, [&](const LayerPhase &use) {
      return places[size_t(use.layer)].shard == from.shard;
    });
    if (value.uses.size() < uses)
      held[{firsts[size_t(value.producer.layer)], from.shard}] +=
          problem.slotOf(value.bytes);
  }
  for (size_t layer = 0; layer < places.size(); ++layer) {
    if (!places[layer].again)
      continue;
    Bytes bytes = held[{firsts[layer], places[layer].shard}];
    StringRef name = problem.layers[layer].name;
    name.consume_back(PipelineDialect::kAgainSuffix);
    auto repeated = numbers.find(name.str());
    if (repeated == numbers.end())
      continue; // The graph has only the repetition.
    for (size_t own : {layer, size_t(repeated->second)}) {
      problem.layers[own].temporaries += bytes;
      problem.layers[own].sampleTemporaries += bytes;
    }
  }
}

namespace {
struct PartitionPass : impl::PartitionBase<PartitionPass> {
  using PartitionBase::PartitionBase;

  void runOnOperation() override {
    if (failed(partition()))
      signalPassFailure();
  }

  LogicalResult partition() {
    if (stages != -1 && stages < 1)
      return emitError(getOperation().getLoc())
             << "number of stages must be at least 1, got "
             << stages.getValue();
    PlanRequest request = {planner, schedule, chunks, placement};
    if (Status status = request.check(stages, !plan.empty()); !status)
      return emitError(getOperation().getLoc(), status.error().message);
    FailureOr<Cluster> machines = chooseCluster();
    if (failed(machines))
      return failure();
    FailureOr<GraphOp> graph = costedGraph();
    if (failed(graph))
      return failure();
    FailureOr<Problem> problem = problemOf(*graph, *machines);
    if (failed(problem))
      return failure();
    problem->microbatches = chooseMicrobatches();
    problem->maxReplicas = maxReplicas;
    problem->model.sharesRings = hasShards(*graph);
    if (problem->model.sharesRings)
      holdRepeated(*problem);
    if (maxReplicas != 1)
      shareMicrobatches(*graph, *problem);
    problem->fixedPlan = plan;
    problem->recompute = recompute;
    problem->level = recomputeLevel;
    Result<OffloadChoice> where = parseOffloadChoice(offload.getValue());
    if (!where)
      return emitError(getOperation().getLoc(), where.error().message);
    problem->offload = *where;
    problem->stages = stages == -1 ? 0 : int64_t(stages);
    Result<Plan> found = makePlan(*problem, request);
    if (!found)
      return emitError(graph->getLoc(), found.error().message);
    if (Status status = finishForProgram(*problem, *found); !status)
      return emitError(graph->getLoc(), status.error().message);

    removeOlder();
    ClusterOp place = writeCluster(getOperation(), *machines);
    ProgramOp program = writeProgram(getOperation(), *graph, place, *problem,
                                     *found, scheduleOf(*found));
    numBoundaries +=
        llvm::range_size(program.getBody().front().getOps<BoundaryOp>());
    return success();
  }

  /// The cluster of the option or the module, with the memory of the option.
  FailureOr<Cluster> chooseCluster() {
    FailureOr<std::optional<Cluster>> found =
        findCluster(getOperation(), cluster);
    if (failed(found))
      return failure();
    if (!*found) {
      emitRemark(getOperation().getLoc())
          << "no cluster is given, taking " << kDefaultCluster
          << "; give one with cluster= or the module attribute '"
          << PipelineDialect::kCluster << "'";
      *found = *loadCluster(kDefaultCluster.str());
    }
    if (!memory.empty()) {
      Result<Bytes> limit = parseBytes(memory);
      if (!limit)
        return emitError(getOperation().getLoc(), limit.error().message);
      for (Device &device : (*found)->devices)
        device.memory = *limit;
      if (Status status = (*found)->check(); !status)
        return emitError(getOperation().getLoc(), status.error().message);
    }
    return **found;
  }

  int64_t chooseMicrobatches() {
    if (microbatches != -1)
      return microbatches;
    if (std::optional<int64_t> stated = statedMicrobatches(getOperation()))
      return *stated;
    emitRemark(getOperation().getLoc())
        << "no number of microbatches is given, taking " << kDefaultMicrobatches
        << "; give one with microbatches= or the module attribute '"
        << PipelineDialect::kMicrobatches << "'";
    return kDefaultMicrobatches;
  }

  /// The graph of the module. Forms it and estimates its costs if it has none.
  FailureOr<GraphOp> costedGraph() {
    Result<Generator> generator = findGenerator(schedule);
    bool split = generator && generator->splitsBackward;
    if (failed(ensureUnifiedGraph(split, layers)))
      return failure();
    if (maxReplicas != 1 && failed(run(createInferSliceable())))
      return failure();
    auto graphs = llvm::to_vector(getOperation().getOps<GraphOp>());
    if (graphs.size() != 1)
      return emitError(getOperation().getLoc())
             << "one graph can be partitioned, the module has "
             << graphs.size();
    if (hasCosts(graphs.front()))
      return graphs.front();
    EstimateCostOptions options;
    options.cluster = cluster;
    if (failed(run(createEstimateCost(options))))
      return failure();
    return graphs.front();
  }

  /// Removes schedules, programs and clusters of an earlier run.
  void removeOlder() {
    for (auto op : llvm::to_vector(getOperation().getOps<ScheduleOp>()))
      op.erase();
    for (auto op : llvm::to_vector(getOperation().getOps<ProgramOp>()))
      op.erase();
    for (auto op : llvm::to_vector(getOperation().getOps<ClusterOp>()))
      op.erase();
  }
};
} // namespace
} // namespace stagewright::pipeline
