//===- PlanGangs.cpp - pipelines of gangs ---------------------------------===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "stagewright/Planning/Bounds.h"
#include "stagewright/Planning/GangProblem.h"
#include <algorithm>

namespace stagewright {

PlacedFamily gangFamily(const Problem &problem, const std::string &schedule) {
  PlacedFamily family;
  bool splits = !problem.wholeBackward && !problem.forwardOnly;
  for (const Generator &generator : allGenerators()) {
    bool isAround = generator.placement == Placement::Linear ||
                    generator.placement == Placement::Loop;
    if (isAround && !generator.isSearched &&
        (generator.splitsBackward == splits ||
         (problem.forwardOnly && schedule == generator.name)) &&
        (schedule.empty() || schedule == generator.name))
      family.generators.push_back(generator);
  }
  return family;
}

Result<Plan> planRepeating(const Problem &problem, const PlacedFamily &family) {
  Problem plain = problem;
  for (Layer &layer : plain.layers)
    if (!layer.levels.empty())
      layer.levels.pop_back();
  Result<Plan> plan = planPlaced(plain, family),
               other = planPlaced(problem, family);
  bool isBetter = other && (!plan || other->time < plan->time);
  return isBetter ? other : plan;
}

/// A lower bound on the time of plans in which every pipeline is a single gang.
static Result<Seconds> boundOfSingle(const Problem &problem,
                                     const PlacedFamily &family) {
  Result<Network> network = Network::create(problem.cluster);
  if (!network)
    return network.error();
  int64_t most =
      std::min(int64_t(problem.cluster.devices.size()), problem.microbatches);
  std::vector<PipelineShape> shapes;
  for (int64_t copies = 1; copies <= most; ++copies)
    if (family.pipelines == 0 || family.pipelines == copies)
      shapes.push_back({1, copies});
  return placedLowerBound(problem, *network, shapes, /*splitsBackward=*/true);
}

Result<Seconds> gangBound(const GangProblems &problems,
                          const PlacedFamily &family) {
  PlacedFamily several = family;
  several.leastRanks = std::max<int64_t>(2, family.leastRanks);
  Result<Seconds> bound = placedFamilyBound(problems.least, several);
  if (!bound || family.leastRanks > 1)
    return bound;
  Result<Seconds> single = boundOfSingle(problems.compute, family);
  if (!single)
    return single;
  return std::min(*bound, *single);
}

} // namespace stagewright
