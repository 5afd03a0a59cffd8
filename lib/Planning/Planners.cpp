//===- Planners.cpp - planners by name ------------------------------------===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "stagewright/Planning/Planners.h"
#include "stagewright/Planning/Bounds.h"
#include <algorithm>
#include <array>

namespace stagewright {

std::span<const Planner> allPlanners() {
  static constexpr std::array planners = {
      Planner{"auto", "the better of spp and placed; the default for modules",
              planAuto},
      Planner{"spp",
              "synchronous training on arbitrary links; the default for "
              "profiles",
              planSpp},
      Planner{"placed", "several stages on each device, in all schedules",
              planPlaced},
      Planner{"balance", "min-max cut of the chain, one device a stage",
              planBalance},
      Planner{"ideal-dp",
              "contiguous stages of least maximum load, of any graph",
              planIdealDp},
      Planner{"ideal-dp-linear", "the same along one order of the layers",
              planIdealDpLinear},
      Planner{"branch-dp", "ideal-dp with branches contracted as in PipeDream",
              planBranchDp},
      Planner{"local-search",
              "least maximum load where devices may hold several stages",
              planLocalSearch},
      Planner{"piper", "replicas, tensor-parallel ways and recomputed layers",
              planPiper},
      Planner{"refine", "local moves on top of the plan of spp", planRefine},
      Planner{"fixed", "the plan that is given, in ranges or JSON", planFixed},
      Planner{"pipedream", "least bottleneck, all-reduce overlapped",
              planPipeDream},
      Planner{"pipedream-code", "least bottleneck, all-reduce added",
              planPipeDreamCode},
      Planner{"dapple", "least latency L, stages placed by three policies",
              planDapple},
      Planner{"alpa", "least sum of stages plus (M - 1) times the slowest",
              planAlpa},
      Planner{"straight", "one device a stage, balanced by time", planStraight},
      Planner{"block-partition", "one device a stage, as torchgpipe balances",
              planBlockPartition},
      Planner{"data-parallel", "one stage on all devices", planDataParallel},
  };
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

/// The plan of `start`, improved by local moves.
template <Result<Plan> (*start)(const Problem &)>
static Result<Plan> planRefined(const Problem &problem) {
  return refineFrom(start, problem);
}

/// `refine` with other planners as its start.
static constexpr Planner kRefined[] = {
    {"refine:spp", "", planRefined<planSpp>},
    {"refine:balance", "", planRefined<planBalance>},
    {"refine:ideal-dp", "", planRefined<planIdealDp>},
    {"refine:local-search", "", planRefined<planLocalSearch>},
    {"refine:pipedream", "", planRefined<planPipeDream>},
    {"refine:dapple", "", planRefined<planDapple>},
    {"refine:alpa", "", planRefined<planAlpa>},
    {"refine:straight", "", planRefined<planStraight>},
    {"refine:data-parallel", "", planRefined<planDataParallel>},
    {"refine:fixed", "", planRefined<planFixed>},
};

Result<Planner> findPlanner(std::string_view name) {
  for (const Planner &planner : kRefined)
    if (name == planner.name)
      return planner;
  std::string known;
  for (const Planner &planner : allPlanners()) {
    if (name == planner.name)
      return planner;
    known += (known.empty() ? "" : ", ") + std::string(planner.name);
  }
  return Error{"unknown planner '" + std::string(name) + "'; there are " +
               known};
}

} // namespace stagewright
