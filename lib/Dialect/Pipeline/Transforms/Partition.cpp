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
#include "stagewright/Dialect/Pipeline/Transforms/EnsureGraph.h"
#include "stagewright/Dialect/Pipeline/Transforms/Passes.h"
#include "stagewright/Planning/Evaluate.h"
#include "stagewright/Planning/Placed.h"
#include "stagewright/Planning/Planners.h"

#include <map>

using namespace mlir;

namespace stagewright::pipeline {
#define GEN_PASS_DEF_PARTITION
#include "stagewright/Dialect/Pipeline/Transforms/Passes.h.inc"

/// What is taken where neither options nor module say it.
static constexpr StringLiteral kDefaultCluster = "local:2";

static StringRef scheduleOf(ExecutionOrder order) {
  for (auto &[name, simulated] : kSimulatedSchedules)
    if (simulated == order)
      return name;
  return "1f1b";
}

namespace {
struct PartitionPass : impl::PartitionBase<PartitionPass> {
  using PartitionBase::PartitionBase;

  void runOnOperation() override {
    if (failed(partition()))
      signalPassFailure();
  }

  LogicalResult partition() {
    Result<Planner> algorithm =
        findPlanner(plan.empty() ? planner.getValue() : "fixed");
    if (!algorithm)
      return emitError(getOperation().getLoc(), algorithm.error().message);
    if (failed(checkOptions()))
      return failure();
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
    if (maxReplicas != 1)
      shareMicrobatches(*graph, *problem);
    problem->fixedPlan = plan;
    if (!plan.empty()) // It says itself how many.
      problem->maxReplicas = maxReplicas;
    problem->recompute = recompute;
    problem->level = recomputeLevel;
    problem->stages = stages == -1 ? 0 : int64_t(stages);
    Result<PlacedPlan> found = isPlaced() ? planStages(*graph, *problem)
                                          : planDevices(*algorithm, *problem);
    if (!found)
      return emitError(graph->getLoc(), found.error().message);

    removeOlder();
    ClusterOp place = writeCluster(getOperation(), *machines);
    ProgramOp program = writeProgram(getOperation(), *graph, place, *problem,
                                     found->plan, found->schedule);
    numBoundaries +=
        llvm::range_size(program.getBody().front().getOps<BoundaryOp>());
    return success();
  }

  /// Says how many samples each replica gets that works on a slice.
  Status shareSamples(const Problem &problem, Plan &plan) {
    for (auto [number, stage] : llvm::enumerate(plan.stages)) {
      if (problem.samples == 0 || stage.devices.size() == 1 ||
          !stage.rows.empty() || takesTurns(problem, stage))
        continue;
      for (double share : sharesOf(problem, stage)) {
        stage.rows.push_back(std::llround(share * double(problem.samples)));
        if (stage.rows.back() < 1)
          return Error{"stage " + std::to_string(number) + " has " +
                       std::to_string(stage.devices.size()) +
                       " replicas for the " + std::to_string(problem.samples) +
                       " samples of a microbatch, and one gets none; give it "
                       "at most " +
                       std::to_string(problem.samples) +
                       ", or larger microbatches"};
      }
    }
    return {};
  }

  /// Whether devices hold several stages.
  bool isPlaced() const { return chunks != 1 || placement == "twin"; }

  LogicalResult checkOptions() {
    Location loc = getOperation().getLoc();
    if (stages == 0)
      return emitError(loc, "number of stages must be at least 1, got 0");
    if (chunks < 1)
      return emitError(loc)
             << "chunks must be at least 1, got " << int64_t(chunks);
    Result<Placement> parsed = parsePlacement(placement);
    if (!parsed)
      return emitError(loc, parsed.error().message);
    where.placement = *parsed;
    where.chunks = chunks;
    if (*parsed == Placement::Twin && chunks != 1)
      return emitError(loc) << "placement twin puts every stage on two devices "
                            << "and takes no chunks, got " << int64_t(chunks);
    if (stages > 0 && stages % chunks != 0)
      return emitError(loc)
             << int64_t(stages) << " stages cannot be " << where.chunks
             << " chunks on each device; ask for a multiple of "
             << where.chunks;
    if (isPlaced() && !plan.empty())
      return emitError(loc) << "a plan that is given has one stage per device; "
                            << "leave out chunks= and placement=, or the "
                            << "schedule that needs them";
    if (isPlaced() && planner != "spp" && planner != "balance")
      return emitError(loc)
             << "planner '" << planner.getValue() << "' plans one stage "
             << "per device; leave it out with chunks= and "
             << "placement=";
    if (schedule == "auto")
      return success();
    Result<Generator> generator = findGenerator(schedule);
    if (!generator)
      return emitError(loc, generator.error().message);
    StagePlacement wanted = where;
    if (!isPlaced())
      wanted = {Placement::Linear, 1, 1};
    if (!fits(*generator, wanted))
      return emitError(loc, demandOf(*generator));
    return success();
  }

  /// One that is given may put two stages on one device.
  static Status checkDevicesApart(const Problem &problem, const Plan &plan) {
    std::map<size_t, size_t> stageOf; ///< By device.
    for (auto [number, stage] : llvm::enumerate(plan.stages))
      for (size_t device : stage.devices)
        if (auto [known, isNew] = stageOf.try_emplace(device, number); !isNew)
          return Error{"stages " + std::to_string(known->second) + " and " +
                       std::to_string(number) + " of the plan share device '" +
                       problem.cluster.devices[device].name +
                       "'; a plan that is given has one stage per device"};
    return {};
  }

  /// A plan with one stage per device by `algorithm`, for the schedules that it
  /// simulates, or for 1F1B and then timed with the schedule that is asked for.
  Result<PlacedPlan> planDevices(const Planner &algorithm, Problem &problem) {
    problem.orders.clear();
    for (auto &[name, order] : kSimulatedSchedules)
      if ((schedule == "auto" || schedule == name) && findGenerator(name))
        problem.orders.push_back(order);
    bool isSimulated = !problem.orders.empty();
    if (!isSimulated) {
      problem.orders.push_back(ExecutionOrder::OneFOneB);
      if (plan.empty() && maxReplicas == 0)
        problem.maxReplicas = 1;
      problem.recompute = false;
    }
    Result<Plan> made = runPlanner(algorithm, problem);
    if (!made)
      return made.error();
    if (Status status = checkDevicesApart(problem, *made); !status)
      return status.error();
    if (Status status = shareSamples(problem, *made); !status)
      return status.error();
    if (isSimulated)
      return PlacedPlan{*made, scheduleOf(made->order).str()};
    if (Status status = retime(problem, *findGenerator(schedule), *made);
        !status)
      return status.error();
    return PlacedPlan{*made, schedule};
  }

  /// A plan with several stages per device.
  Result<PlacedPlan> planStages(GraphOp graph, const Problem &problem) {
    PlacedRequest request;
    request.where = where;
    request.where.ranks = problem.stages > 0
                              ? problem.stages / where.chunks
                              : int64_t(problem.cluster.devices.size());
    bool whole = hasWholeBackward(graph);
    for (const Generator &generator : allGenerators())
      if ((schedule == "auto" && !(whole && generator.splitsBackward)) ||
          schedule == generator.name)
        request.generators.push_back(generator);
    Result<PlacedPlan> best = planPlaced(problem, request);
    if (problem.stages > 0 || where.placement == Placement::Twin ||
        joinsResults(graph))
      return best;
    // The same devices as fewer ranks of several pipelines side by side.
    auto devices = int64_t(problem.cluster.devices.size());
    int64_t most = maxReplicas > 0 ? int64_t(maxReplicas) : devices;
    for (int64_t k = 2; k <= std::min(most, problem.microbatches); ++k) {
      if (devices % k != 0)
        continue;
      request.pipelines = k;
      request.where.ranks = devices / k;
      Result<PlacedPlan> other = planPlaced(problem, request);
      if (other && (!best || other->plan.time < best->plan.time))
        best = std::move(other);
    }
    return best;
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
    Result<Generator> generator = findGenerator(schedule);
    bool split = generator && generator->splitsBackward;
    if (failed(ensureUnifiedGraph(getOperation(), run, split, layers)))
      return failure();
    if (maxReplicas != 1) {
      OpPassManager rule(ModuleOp::getOperationName());
      rule.addPass(createInferSliceable());
      if (failed(run(rule)))
        return failure();
    }
    auto graphs = llvm::to_vector(getOperation().getOps<GraphOp>());
    if (graphs.size() != 1)
      return emitError(getOperation().getLoc())
             << "one graph can be partitioned, the module has "
             << graphs.size();
    if (hasCosts(graphs.front()))
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

  StagePlacement where; ///< But for its ranks.
};
} // namespace
} // namespace stagewright::pipeline
