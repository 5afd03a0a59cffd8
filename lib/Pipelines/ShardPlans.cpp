//===- ShardPlans.cpp - plans of gangs ------------------------------------===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ShardPlans.h"
#include "RepeatLevels.h"
#include "stagewright/Analysis/GraphProblem.h"
#include "stagewright/Pipelines/Shards.h"
#include "stagewright/Scheduling/Generators.h"
#include <cmath>
#include <limits>
#include <set>

namespace stagewright {

/// The schedule of a single gang, which runs several microbatches at a time.
static constexpr const char *kOfOneGroup = "levels";

/// The chain of `levels`, with what each layer repeats if `options` let layers
/// repeat their forwards.
static FailureOr<ShardedLayers>
shardedFor(pipeline::GraphOp graph, const Problem &fine,
           const std::vector<ShardLevel> &levels, int64_t ways,
           const CompileOptions &options) {
  ShardedLayers sharded = shardedLayersOf(levels, ways, fine);
  sharded.repeats = options.recomputeLayers && !fine.forwardOnly;
  if (!sharded.repeats)
    return sharded;
  std::vector<LevelRange> all = allButLast(sharded);
  all.push_back({all.empty() ? 0 : all.back().end, levels.size()});
  FailureOr<RepeatedGraph> repeated =
      repeatForwards(graph, levels, all, fine.cluster, options);
  if (failed(repeated))
    return failure();
  std::vector<ShardLevel> own =
      levelsOf(repeated->graph(), repeated->problem, ways);
  ShardedLayers layers = placesOf(own, ways, repeated->problem);
  StagesOfShards stages;
  for (size_t end : sharded.ends)
    stages.stages.push_back({end, {}, {}});
  for (const GroupStage &stage : withRepeated(stages, own).stages)
    layers.ends.push_back(stage.end);
  sharded.again = std::make_shared<RepeatedLayers>(
      RepeatedLayers{std::move(repeated->problem), std::move(layers)});
  return sharded;
}

namespace {
/// Plans the layers of one graph.
class ShardPlanner {
public:
  ShardPlanner(pipeline::GraphOp graph, const Problem &fine,
               const std::vector<ShardLevel> &levels,
               const ShardedLayers &sharded, const CompileOptions &options)
      : graph(graph), fine(fine), ways(int64_t(sharded.ways)), options(options),
        levels(levels), sharded(sharded) {}

  Status run(ShardPlans &result) const;

private:
  Status addPipeline(const GangProblems &problems, PlacedFamily family,
                     ShardPlans &result) const;
  Status addGroup(const GangProblems &problems, PlacedFamily family,
                  ShardPlans &result) const;
  /// Adds a plan in which `repeated` levels repeat their forwards.
  Status add(const GangShape &shape, Seconds seconds,
             const StagesOfShards &stages,
             const std::vector<LevelRange> &repeated, ShardPlans &result,
             double share = 1) const;

  pipeline::GraphOp graph;
  const Problem &fine;
  int64_t ways;
  const CompileOptions &options;
  const std::vector<ShardLevel> &levels;
  const ShardedLayers &sharded;
};
} // namespace

Status ShardPlanner::add(const GangShape &shape, Seconds seconds,
                         const StagesOfShards &stages,
                         const std::vector<LevelRange> &repeated,
                         ShardPlans &result, double share) const {
  if (repeated.empty()) {
    result.plans.push_back(
        {shape, seconds, toJson(graph, fine, levels, stages), {}, share});
    return {};
  }
  FailureOr<RepeatedGraph> made =
      repeatForwards(graph, levels, repeated, fine.cluster, options);
  if (failed(made))
    return Error{"layers cannot repeat their forwards"};
  std::vector<ShardLevel> all = levelsOf(made->graph(), made->problem, ways);
  std::string json =
      toJson(made->graph(), made->problem, all, withRepeated(stages, all));
  result.plans.push_back(
      {shape, seconds, std::move(json), std::move(made->module), share});
  return {};
}

/// ShardPlan::share of a plan for the gangs of `cluster`.
static double shareOf(const Plan &plan, const Cluster &cluster) {
  std::vector<double> bytes(cluster.devices.size(), 0);
  for (const StagePlan &stage : plan.stages)
    for (size_t gang : stage.devices)
      bytes[gang] += double(stage.memory.value);
  double most = 0;
  for (auto [own, device] : llvm::zip_equal(bytes, cluster.devices))
    most = std::max(most, own / double(device.memory.value));
  return most;
}

/// Adds the best plan of pipelines of at least two gangs.
Status ShardPlanner::addPipeline(const GangProblems &problems,
                                 PlacedFamily family,
                                 ShardPlans &result) const {
  family.leastRanks = 2;
  if (family.generators.empty() || problems.most.cluster.devices.size() < 2)
    return {};
  Result<Seconds> bound = gangBound(problems, family);
  if (!bound)
    return bound.error();
  result.bound = std::min(result.bound, *bound);
  Result<Plan> plan = sharded.repeats ? planRepeating(problems.most, family)
                                      : planPlaced(problems.most, family);
  if (!plan)
    return plan.error();
  GangShape shape{ways, 1, 1, 1, plan->schedule};
  std::set<size_t> groups;
  for (const StagePlan &stage : plan->stages)
    groups.insert(stage.devices.front());
  shape.groups = int64_t(groups.size());
  shape.chunks = int64_t(plan->stages.size()) / shape.groups;
  shape.copies = int64_t(plan->stages.front().devices.size());
  return add(shape, plan->time, stagesOf(*plan, sharded),
             repeatedIn(*plan, sharded, fine), result,
             shareOf(*plan, problems.most.cluster));
}

/// The error if the layers of one gang do not fit.
static Error noMemory(const Problem &problem) {
  std::vector<bool> all(problem.layers.size(), true);
  const Device &device = problem.cluster.devices.front();
  return Error{"device " + device.name + " needs at least " +
               toString(Bytes(int64_t(
                   stageMemory(problem, all, /*recompute=*/false).once))) +
               ", has " + toString(device.memory) +
               "; split the layers over more devices"};
}

/// Adds the plan without a pipeline and, if layers may repeat their forwards,
/// another one in which all layers but the last do so.
Status ShardPlanner::addGroup(const GangProblems &problems, PlacedFamily family,
                              ShardPlans &result) const {
  auto generator = findGenerator(options.schedule);
  if ((!fine.wholeBackward && !fine.forwardOnly) ||
      options.stages.value_or(1) != 1 || options.chunks.value_or(1) != 1 ||
      (generator && generator->splitsBackward))
    return {};
  int64_t most = std::min(int64_t(problems.most.cluster.devices.size()),
                          fine.microbatches);
  int64_t copies = options.dataParallel.value_or(most);
  if (copies > most) // There are too few devices or microbatches.
    return {};
  family.generators.clear(); // Only single gangs are left.
  Result<Seconds> bound = gangBound(problems, family);
  if (!bound)
    return bound.error();
  if (std::isinf(bound->value))
    return noMemory(problems.compute);
  result.bound = std::min(result.bound, *bound);
  StagesOfShards stages;
  stages.schedule = generator           ? options.schedule
                    : levels.size() > 1 ? kOfOneGroup
                                        : "1f1b";
  GroupStage &stage = stages.stages.emplace_back();
  stage.end = levels.size();
  for (int64_t copy = 0; copy < copies; ++copy)
    stage.groups.push_back(size_t(copy));
  GangShape shape{ways, 1, 1, copies, ""};
  Status status = add(shape, *bound, stages, {}, result);
  std::vector<LevelRange> repeated = allButLast(sharded);
  if (!status || !sharded.repeats || repeated.empty())
    return status;
  return add(shape, *bound, stages, repeated, result);
}

Status ShardPlanner::run(ShardPlans &result) const {
  Result<GangProblems> problems = gangProblems(fine, sharded);
  if (!problems)
    return problems.error();
  problems->most.stages = problems->least.stages = options.stages.value_or(0);
  PlacedFamily family =
      gangFamily(fine, findGenerator(options.schedule) ? options.schedule : "");
  family.pipelines = options.dataParallel.value_or(0);
  family.chunks = options.chunks.value_or(0);
  Status pipeline = addPipeline(*problems, family, result),
         group = addGroup(*problems, family, result);
  if (result.plans.empty() && family.generators.empty())
    return Error{"the planner of gangs has only schedules with linear or loop "
                 "placement, not '" +
                 options.schedule +
                 "'; use another schedule, such as interleaved-zb, or give "
                 "--tensor-parallel=N and --stages"};
  return pipeline ? group : pipeline;
}

FailureOr<GangProblems> gangProblemsOf(pipeline::GraphOp graph,
                                       const Problem &fine, int64_t ways,
                                       const CompileOptions &options) {
  FailureOr<ShardedLayers> sharded =
      shardedFor(graph, fine, levelsOf(graph, fine, ways), ways, options);
  if (failed(sharded))
    return failure();
  Result<GangProblems> problems = gangProblems(fine, *sharded);
  if (!problems)
    return emitError(graph.getLoc()) << problems.error().message;
  return std::move(*problems);
}

FailureOr<ShardPlans> planGroups(pipeline::GraphOp graph, int64_t ways,
                                 int64_t microbatches, const Cluster &cluster,
                                 const CompileOptions &options) {
  FailureOr<Problem> fine = pipeline::problemOf(graph, cluster);
  if (failed(fine))
    return failure();
  fine->microbatches = microbatches;
  fine->level = options.recomputeLevel.value_or(fine->level);
  std::vector<ShardLevel> levels = levelsOf(graph, *fine, ways);
  FailureOr<ShardedLayers> sharded =
      shardedFor(graph, *fine, levels, ways, options);
  if (failed(sharded))
    return failure();
  ShardPlans result;
  result.bound = Seconds(std::numeric_limits<double>::infinity());
  ShardPlanner planner(graph, *fine, levels, *sharded, options);
  if (Status status = planner.run(result); !status)
    result.problem = status.error().message;
  return result;
}

} // namespace stagewright
