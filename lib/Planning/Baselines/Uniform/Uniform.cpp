//===- Uniform.cpp - uniform plans, as made by hand -----------------------===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "stagewright/Planning/Baselines/Uniform.h"
#include "stagewright/Planning/Evaluate.h"
#include "stagewright/Planning/EvenCut.h"
#include <algorithm>
#include <limits>
#include <tuple>

namespace stagewright {

namespace {
/// Tries all recomputation levels and schedules of one stage placement.
class Shape {
public:
  Shape(const Problem &problem, const Network &network, StagePlacement where)
      : problem(problem), network(network), where(where),
        replicas(int64_t(problem.cluster.devices.size()) / where.ranks) {}

  UniformPlan best();

private:
  void tryInTurn(const Problem &leveled, int64_t level);
  void tryShared(const Problem &leveled, int64_t level);
  void take(Plan plan, int64_t level);

  const Problem &problem;
  const Network &network;
  StagePlacement where;
  int64_t replicas;
  UniformPlan found;
};
} // namespace

void Shape::take(Plan plan, int64_t level) {
  if (found.plan && !(plan.time < found.plan->time))
    return;
  found.level = level;
  found.plan = std::move(plan);
}

/// Replicas are parallel pipelines that take whole microbatches in turn.
void Shape::tryInTurn(const Problem &leveled, int64_t level) {
  if (replicas > leveled.microbatches)
    return;
  PlacedRequest request{where, {}, replicas};
  for (const Generator &generator : allGenerators())
    if (fits(generator, where) && generator.placement != Placement::Twin &&
        !(generator.splitsBackward && leveled.wholeBackward))
      request.generators.push_back(generator);
  if (request.generators.empty())
    return;
  Seconds limit(std::numeric_limits<double>::infinity());
  EvenPlan even = planEvenCut(leveled, network, request,
                              found.plan ? found.plan->time : limit);
  if (even.plan)
    take(std::move(*even.plan), level);
  else if (even.need != Bytes() &&
           (found.need == Bytes() || even.need < found.need))
    found.need = even.need;
}

/// Every microbatch is sliced over the replicas.
void Shape::tryShared(const Problem &leveled, int64_t level) {
  if (where.chunks > 1 || replicas == 1 || leveled.samples < replicas)
    return;
  Plan plan;
  plan.planner = "uniform";
  std::vector<int64_t> ends = evenCut(leveled, {where, {}, replicas});
  for (size_t s = 0; s < ends.size(); ++s) {
    std::vector<size_t> devices;
    for (int64_t k = 0; k < replicas; ++k)
      devices.push_back(s * size_t(replicas) + size_t(k));
    plan.stages.push_back(stageOf(s == 0 ? 0 : ends[s - 1], ends[s], devices));
  }
  if (evaluate(leveled, network, plan))
    take(std::move(plan), level);
}

UniformPlan Shape::best() {
  found.replicas = replicas;
  found.ranks = where.ranks;
  found.chunks = where.chunks;
  int64_t most = problem.recompute ? problem.mostLevels() : 0;
  for (int64_t level = 0; level <= most; ++level) {
    Problem leveled = problem;
    leveled.level = level;
    tryInTurn(leveled, level);
    tryShared(leveled, level);
  }
  return std::move(found);
}

Result<std::vector<UniformPlan>> uniformPlans(const Problem &problem) {
  Result<Network> network = checkedNetwork(problem);
  if (!network)
    return network.error();
  auto devices = int64_t(problem.cluster.devices.size()),
       layers = int64_t(problem.layers.size());
  std::vector<UniformPlan> plans;
  for (int64_t ranks = 1; ranks <= std::min(devices, layers); ++ranks) {
    if (devices % ranks != 0)
      continue;
    for (int64_t chunks = 1; chunks * ranks <= layers; ++chunks) {
      if (ranks == 1 && chunks > 1)
        break;
      for (Placement placement :
           {Placement::Linear, Placement::Loop, Placement::V})
        if ((placement == Placement::Linear) == (chunks == 1))
          plans.push_back(
              Shape(problem, *network, {placement, ranks, chunks}).best());
    }
  }
  std::erase_if(plans, [](const UniformPlan &plan) {
    return !plan.plan && plan.need == Bytes();
  });
  sortByTime(plans);
  return plans;
}

void sortByTime(std::vector<UniformPlan> &plans) {
  auto keyOf = [](const UniformPlan &it) {
    return std::tuple(!it.plan, it.plan ? it.plan->time.value : 0,
                      it.need.value);
  };
  std::stable_sort(plans.begin(), plans.end(),
                   [&](const UniformPlan &a, const UniformPlan &b) {
                     return keyOf(a) < keyOf(b);
                   });
}

} // namespace stagewright
