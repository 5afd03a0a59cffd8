//===- ShardPlans.cpp - plans of groups of shards -------------------------===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ShardPlans.h"
#include "stagewright/Analysis/GraphProblem.h"
#include "stagewright/Pipelines/Shards.h"
#include "stagewright/Scheduling/Generators.h"
#include <cmath>
#include <limits>
#include <set>

namespace stagewright {

/// The schedule of a single group, which runs several microbatches at a time.
static constexpr const char *kOfOneGroup = "levels";

namespace {
/// Plans the layers of one graph.
class ShardPlanner {
public:
  ShardPlanner(pipeline::GraphOp graph, const Problem &fine, int64_t ways,
               const CompileOptions &options)
      : graph(graph), fine(fine), ways(ways), options(options),
        levels(levelsOf(graph, fine, ways)),
        sharded(shardedLayersOf(levels, ways, fine)) {}

  Status run(ShardPlans &result) const;

private:
  Status addPipeline(const GangProblems &problems, PlacedFamily family,
                     ShardPlans &result) const;
  Status addGroup(const GangProblems &problems, PlacedFamily family,
                  ShardPlans &result) const;

  pipeline::GraphOp graph;
  const Problem &fine;
  int64_t ways;
  const CompileOptions &options;
  std::vector<ShardLevel> levels;
  ShardedLayers sharded;
};
} // namespace

/// Adds the best plan of pipelines of at least two groups.
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
  Result<Plan> plan = planPlaced(problems.most, family);
  if (!plan)
    return plan.error();
  Grid grid{ways, 1, 1, 1, plan->schedule};
  std::set<size_t> groups;
  for (const StagePlan &stage : plan->stages)
    groups.insert(stage.devices.front());
  grid.groups = int64_t(groups.size());
  grid.chunks = int64_t(plan->stages.size()) / grid.groups;
  grid.copies = int64_t(plan->stages.front().devices.size());
  result.plans.push_back(
      {grid, plan->time,
       toJson(graph, fine, levels, stagesOf(*plan, sharded))});
  return {};
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

/// Adds the plan without a pipeline.
Status ShardPlanner::addGroup(const GangProblems &problems, PlacedFamily family,
                              ShardPlans &result) const {
  auto generator = findGenerator(options.schedule);
  if (!fine.wholeBackward || options.stages.value_or(1) != 1 ||
      options.chunks.value_or(1) != 1 ||
      (generator && generator->splitsBackward))
    return {};
  int64_t most = std::min(int64_t(problems.most.cluster.devices.size()),
                          fine.microbatches);
  int64_t copies = options.dataParallel.value_or(most);
  if (copies > most) // Takes other devices, or has nothing to do.
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
  result.plans.push_back(
      {{ways, 1, 1, copies, ""}, *bound, toJson(graph, fine, levels, stages)});
  return {};
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
    return Error{"the planner of groups has only schedules that go around "
                 "them, not '" +
                 options.schedule +
                 "'; use another one, such as interleaved-zb, or give "
                 "--tensor-parallel=N and --stages"};
  return pipeline ? group : pipeline;
}

FailureOr<GangProblems> gangProblemsOf(pipeline::GraphOp graph,
                                       const Problem &fine, int64_t ways,
                                       bool repeats) {
  ShardedLayers sharded =
      shardedLayersOf(levelsOf(graph, fine, ways), ways, fine);
  sharded.repeats = repeats;
  Result<GangProblems> problems = gangProblems(fine, sharded);
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
  ShardPlans result;
  result.bound = Seconds(std::numeric_limits<double>::infinity());
  if (Status status = ShardPlanner(graph, *fine, ways, options).run(result);
      !status)
    result.problem = status.error().message;
  return result;
}

} // namespace stagewright
