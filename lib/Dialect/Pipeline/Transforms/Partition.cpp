//===- Partition.cpp - pipeline-partition ---------------------------------===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/Builders.h"
#include "stagewright/Analysis/ClusterData.h"
#include "stagewright/Analysis/GraphProblem.h"
#include "stagewright/Analysis/PlanData.h"
#include "stagewright/Dialect/Pipeline/Transforms/EnsureGraph.h"
#include "stagewright/Dialect/Pipeline/Transforms/Passes.h"
#include "stagewright/Planning/Planners.h"

using namespace mlir;

namespace stagewright::pipeline {
#define GEN_PASS_DEF_PARTITION
#include "stagewright/Dialect/Pipeline/Transforms/Passes.h.inc"

/// What is taken where neither options nor module say it.
static constexpr StringLiteral kDefaultCluster = "local:2";
static constexpr int64_t kDefaultMicrobatches = 8;

/// The schedules that can be lowered, by the execution order that the planner
/// simulates for each.
static constexpr std::pair<StringLiteral, ExecutionOrder> kSchedules[] = {
    {"1f1b", ExecutionOrder::OneFOneB},
    {"window", ExecutionOrder::Window},
    {"early-backward", ExecutionOrder::CapB},
    {"gpipe", ExecutionOrder::GPipe}};

static StringRef scheduleOf(ExecutionOrder order) {
  for (auto &[name, simulated] : kSchedules)
    if (simulated == order)
      return name;
  return "1f1b";
}

/// Writes `plan` behind the cluster.
static ProgramOp writeProgram(ModuleOp module, GraphOp graph, ClusterOp cluster,
                              const Problem &problem, const Plan &plan) {
  OpBuilder builder(module.getContext());
  Location loc = graph.getLoc();
  auto promise = PlanAttr::get(builder.getContext(),
                               builder.getF64FloatAttr(plan.time.value),
                               builder.getF64FloatAttr(plan.familyBound.value),
                               builder.getStringAttr(plan.planner),
                               builder.getF64FloatAttr(plan.planBound.value),
                               builder.getStringAttr(scheduleOf(plan.order)));
  auto program = ProgramOp::create(
      builder, loc, builder.getStringAttr("plan"),
      FlatSymbolRefAttr::get(graph.getSymNameAttr()),
      FlatSymbolRefAttr::get(cluster.getSymNameAttr()),
      builder.getI64IntegerAttr(problem.microbatches), promise);
  builder.createBlock(&program.getBody());
  SmallVector<int64_t> stageOfLayer(problem.layers.size());
  for (auto [index, stage] : llvm::enumerate(plan.stages)) {
    SmallVector<int64_t> layers;
    for (int64_t layer : stage.layers) {
      layers.push_back(layer);
      stageOfLayer[layer] = index;
    }
    SmallVector<Attribute> devices;
    for (size_t device : stage.devices)
      devices.push_back(FlatSymbolRefAttr::get(
          builder.getContext(), problem.cluster.devices[device].name));
    StageOp::create(builder, loc, builder.getI64IntegerAttr(index),
                    builder.getArrayAttr(devices),
                    builder.getDenseI64ArrayAttr(layers),
                    stage.recompute ? builder.getUnitAttr() : UnitAttr(),
                    builder.getStringAttr(toString(stage.binding)));
  }
  for (const Crossing &crossing : crossingsOf(graph, stageOfLayer)) {
    auto node = cast<NodeOp>(crossing.value.getOwner());
    BoundaryOp::create(
        builder, node.getLoc(), node.getNodeNameAttr(),
        builder.getI64IntegerAttr(crossing.value.getResultNumber()),
        builder.getI64IntegerAttr(crossing.edge.producer.stage),
        builder.getI64IntegerAttr(crossing.edge.lastUse.stage),
        TypeAttr::get(crossing.value.getType()));
  }
  SymbolTable(module).insert(program);
  return program;
}

namespace {
struct PartitionPass : impl::PartitionBase<PartitionPass> {
  using PartitionBase::PartitionBase;

  void runOnOperation() override {
    if (failed(partition()))
      signalPassFailure();
  }

  LogicalResult partition() {
    Result<Planner> algorithm = findPlanner(planner);
    if (!algorithm)
      return emitError(getOperation().getLoc(), algorithm.error().message);
    FailureOr<std::vector<ExecutionOrder>> orders = chooseOrders();
    if (failed(orders))
      return failure();
    if (stages == 0)
      return emitError(getOperation().getLoc(),
                       "number of stages must be at least 1, got 0");
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
    problem->orders = *orders;
    problem->maxReplicas = maxReplicas;
    problem->recompute = recompute;
    problem->stages = stages == -1 ? 0 : int64_t(stages);
    Result<Plan> plan = runPlanner(*algorithm, *problem);
    if (!plan)
      return emitError(graph->getLoc(), plan.error().message);

    removeOlder();
    ClusterOp place = writeCluster(getOperation(), *machines);
    ProgramOp program =
        writeProgram(getOperation(), *graph, place, *problem, *plan);
    numBoundaries +=
        llvm::range_size(program.getBody().front().getOps<BoundaryOp>());
    return success();
  }

  /// The execution orders of the option: one, or all that can be lowered.
  FailureOr<std::vector<ExecutionOrder>> chooseOrders() {
    std::vector<ExecutionOrder> orders;
    for (auto &[name, order] : kSchedules)
      if ((schedule == "auto" || schedule == name) && findGenerator(name))
        orders.push_back(order);
    if (!orders.empty())
      return orders;
    Result<Generator> generator = findGenerator(schedule);
    return emitError(getOperation().getLoc(),
                     generator ? "no plan can be made for schedule '" +
                                     schedule + "'; take auto"
                               : generator.error().message);
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
    if (auto attribute = getOperation()->getAttrOfType<IntegerAttr>(
            PipelineDialect::kMicrobatches))
      return attribute.getInt();
    emitRemark(getOperation().getLoc())
        << "no number of microbatches is given, taking " << kDefaultMicrobatches
        << "; give one with microbatches= or the module attribute '"
        << PipelineDialect::kMicrobatches << "'";
    return kDefaultMicrobatches;
  }

  /// The graph of the module, formed and costed where it is not.
  FailureOr<GraphOp> costedGraph() {
    auto run = [&](OpPassManager &manager) {
      return runPipeline(manager, getOperation());
    };
    if (failed(ensureUnifiedGraph(getOperation(), run)))
      return failure();
    auto graphs = llvm::to_vector(getOperation().getOps<GraphOp>());
    if (graphs.size() != 1)
      return emitError(getOperation().getLoc())
             << "one graph can be partitioned, the module has "
             << graphs.size();
    bool costed = llvm::all_of(
        graphs.front().getBody().front().getOps<NodeOp>(),
        [](NodeOp node) { return static_cast<bool>(node.getCostAttr()); });
    if (costed)
      return graphs.front();
    OpPassManager manager(ModuleOp::getOperationName());
    EstimateCostOptions options;
    options.cluster = cluster;
    manager.addPass(createEstimateCost(options));
    if (failed(run(manager)))
      return failure();
    return graphs.front();
  }

  /// Schedules, programs and clusters of an earlier run.
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
