//===- Planners.cpp - planners by name ------------------------------------===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "stagewright/Planning/Planners.h"
#include "stagewright/Planning/Bounds.h"
#include "stagewright/Support/Names.h"
#include <algorithm>

namespace stagewright {

static constexpr Planner kPlanners[] = {
    {"auto", "the better of spp and placed; the default for modules", planAuto},
    {"spp", "synchronous training on arbitrary links; the default for profiles",
     planSpp},
    {"placed", "one or more stages on each device, in all schedules but twins",
     planPlaced},
    {"balance", "min-max cut of the chain, one device a stage", planBalance},
    {"refine", "local moves on top of the plan of spp", planRefine},
    {"fixed", "the plan that is given, in ranges or JSON", planFixed},
    {"pipedream", "least bottleneck, all-reduce overlapped", planPipeDream},
    {"pipedream-code", "least bottleneck, all-reduce added", planPipeDreamCode},
    {"dapple", "least latency L, stages placed by three policies", planDapple},
    // `refine` with other planners as its start.
    {"refine:spp", "", planRefined<planSpp>},
    {"refine:balance", "", planRefined<planBalance>},
    {"refine:pipedream", "", planRefined<planPipeDream>},
    {"refine:dapple", "", planRefined<planDapple>},
    {"refine:fixed", "", planRefined<planFixed>},
};

static std::vector<Planner> &registry() {
  static std::vector<Planner> planners(std::begin(kPlanners),
                                       std::end(kPlanners));
  return planners;
}

void addPlanners(std::span<const Planner> planners) {
  registry().insert(registry().end(), planners.begin(), planners.end());
}

std::vector<Planner> allPlanners() {
  std::vector<Planner> planners = registry();
  std::erase_if(planners,
                [](const Planner &planner) { return !*planner.summary; });
  return planners;
}

/// `asked` with at most as many replicas per stage as samples, unless the plan
/// is given, or a layer is not sliceable, so that its replicas take turns.
static Problem withSamples(Problem asked) {
  bool limits = asked.samples > 1 && asked.fixedPlan.empty() &&
                (asked.maxReplicas == 0 || asked.maxReplicas > asked.samples) &&
                std::all_of(asked.layers.begin(), asked.layers.end(),
                            [](const Layer &layer) { return layer.sliceable; });
  if (limits)
    asked.maxReplicas = asked.samples;
  return asked;
}

Result<Plan>
runPlanner(const Problem &asked,
           const std::function<Result<Plan>(const Problem &)> &planner) {
  if (Status status = asked.check(); !status)
    return status.error();
  const Problem problem = withSamples(asked);
  Result<Network> network = Network::create(problem.cluster);
  if (!network)
    return network.error();
  Result<Plan> plan = planner(problem);
  if (!plan)
    return plan.error();
  Seconds work = workLowerBound(problem);
  if (isOfFamily(*plan))
    plan->familyBound = familyLowerBound(problem, *network);
  else if (plan->schedule.empty())
    plan->familyBound = work;
  else // The planner has set the bound of its own family.
    plan->familyBound = std::max(plan->familyBound, work);
  plan->familyBound = boundOf(plan->familyBound, plan->time);
  if (Status status = verify(problem, *plan); !status)
    return status.error();
  return plan;
}

Result<Planner> findPlanner(std::string_view name) {
  return findNamed(registry(), "planner", name, [](const Planner &planner) {
    return *planner.summary != '\0';
  });
}

} // namespace stagewright
