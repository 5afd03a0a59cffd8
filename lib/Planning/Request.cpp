//===- Request.cpp - plans requested by tools and passes ------------------===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "stagewright/Planning/Request.h"
#include "stagewright/Planning/Evaluate.h"
#include "stagewright/Planning/Placed.h"
#include "stagewright/Planning/Planners.h"
#include <algorithm>
#include <cmath>
#include <map>

namespace stagewright {

std::optional<ExecutionOrder> programOrder(std::string_view schedule) {
  for (ExecutionOrder order : kProgramOrders)
    if (schedule == toString(order))
      return order;
  return std::nullopt;
}

std::string scheduleOf(const Plan &plan) {
  if (!plan.schedule.empty())
    return plan.schedule;
  const char *name = toString(plan.order);
  return programOrder(name) ? name : "1f1b";
}

/// Whether another planner may be used to satisfy the request.
static bool choosesPlanner(const PlanRequest &request) {
  return request.planner == "auto" || request.planner == "spp" ||
         request.planner == "placed";
}

/// Whether several stages per device, or a placement other than linear, are
/// requested.
static bool asksForPlaces(const PlanRequest &request) {
  return request.chunks > 1 ||
         (!request.placement.empty() && request.placement != "linear");
}

static Status checkPlaces(const PlanRequest &request, int64_t stages,
                          bool hasPlan) {
  bool twin = false;
  if (!request.placement.empty()) {
    Result<Placement> placement = parsePlacement(request.placement);
    if (!placement)
      return placement.error();
    twin = *placement == Placement::Twin;
  }
  std::string chunks = std::to_string(request.chunks);
  if (request.chunks < 0)
    return Error{"chunks must be at least 1, or 0 for what is best, got " +
                 chunks};
  if (twin && request.chunks > 1)
    return Error{"placement twin puts every stage on two devices and takes no "
                 "chunks, got " +
                 chunks};
  if (stages > 0 && request.chunks > 0 && stages % request.chunks != 0)
    return Error{std::to_string(stages) + " stages cannot be " + chunks +
                 " chunks on each device; ask for a multiple of " + chunks};
  if (!asksForPlaces(request))
    return {};
  if (hasPlan)
    return Error{"a plan that is given says itself where its stages lie; leave "
                 "out chunks= and placement=, or the schedule that needs them"};
  if (!choosesPlanner(request) && request.planner != "balance")
    return Error{"planner '" + request.planner +
                 "' plans one stage per device; leave it out with chunks= and "
                 "placement="};
  return {};
}

Status PlanRequest::check(int64_t stages, bool hasPlan) const {
  if (Result<Planner> found = findPlanner(planner); !found)
    return found.error();
  if (Status status = checkPlaces(*this, stages, hasPlan); !status)
    return status;
  if (schedule == "auto")
    return {};
  Result<Generator> generator = findGenerator(schedule);
  if (!generator)
    return generator.error();
  if (generator->isSearched)
    return Error{"schedule '" + schedule +
                 "' is the result of a search and cannot be requested by name; "
                 "ask for auto"};
  StagePlacement where = {generator->placement, 2,
                          chunks == 0 ? generator->leastChunks : chunks};
  if (!placement.empty())
    where.placement = *parsePlacement(placement);
  return fits(*generator, where) ? Status() : Error{demandOf(*generator)};
}

/// Sets the number of samples of each replica that works on a slice.
static Status shareSamples(const Problem &problem, Plan &plan) {
  for (size_t number = 0; number < plan.stages.size(); ++number) {
    StagePlan &stage = plan.stages[number];
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

/// Fails if stages share a device, which is possible only in a given plan.
static Status checkDevicesApart(const Problem &problem, const Plan &plan) {
  std::map<size_t, size_t> stageOf; // By device.
  for (size_t number = 0; number < plan.stages.size(); ++number)
    for (size_t device : plan.stages[number].devices)
      if (auto [known, isNew] = stageOf.try_emplace(device, number); !isNew)
        return Error{"stages " + std::to_string(known->second) + " and " +
                     std::to_string(number) + " of the plan share device '" +
                     problem.cluster.devices[device].name +
                     "'; a plan that is given has one stage per device, unless "
                     "it names its schedule"};
  return {};
}

Status finishForProgram(const Problem &problem, Plan &plan) {
  if (!plan.schedule.empty())
    return {};
  if (Status status = checkDevicesApart(problem, plan); !status)
    return status;
  return shareSamples(problem, plan);
}

/// Makes a plan of one stage per device. If planners do not simulate the
/// requested schedule, the plan is timed with it afterwards.
static Result<Plan> planDevices(const PlanRequest &request, Problem problem) {
  bool retimes = request.schedule != "auto" && !programOrder(request.schedule);
  if (retimes) {
    problem.orders = {ExecutionOrder::OneFOneB};
    if (problem.fixedPlan.empty() && problem.askedStages.empty() &&
        problem.maxReplicas == 0)
      problem.maxReplicas = 1;
    problem.recompute = false;
    if (problem.offload == OffloadChoice::All)
      return Error{"offload=all is planned for the schedules 1f1b, gpipe, "
                   "window and early-backward, got '" +
                   request.schedule +
                   "'; ask for one of them, or leave out "
                   "offload="};
    problem.offload = OffloadChoice::None;
  }
  std::string name = request.planner;
  if (!problem.fixedPlan.empty())
    name = "fixed";
  else if (name == "auto" &&
           (request.schedule != "auto" || request.chunks == 1))
    name = "spp";
  Result<Plan> plan = request.isBrief && name == "auto"
                          ? runPlanner(problem, planAutoBriefly)
                          : runPlanner(*findPlanner(name), problem);
  if (!plan || !retimes || !plan->schedule.empty())
    return plan;
  if (Status status = finishForProgram(problem, *plan); !status)
    return status.error();
  if (Status status = retime(problem, *findGenerator(request.schedule), *plan);
      !status)
    return status.error();
  return plan;
}

/// Checks that stages that are asked for can be planned as requested.
static Status checkAsked(const Problem &problem, const PlanRequest &request) {
  if (problem.askedStages.empty() || !problem.fixedPlan.empty())
    return {};
  const std::string &source = problem.askedStages.front().source;
  if (request.planner != "auto" && request.planner != "spp")
    return Error{"planner '" + request.planner +
                 "' takes no annotated layers, such as those of " + source +
                 "; use spp, or remove the annotations"};
  if (asksForPlaces(request))
    return Error{"annotated layers, such as those of " + source +
                 ", are planned with one stage per device; leave out chunks= "
                 "and placement=, or the schedule that needs them"};
  return {};
}

Result<Plan> makePlan(Problem problem, const PlanRequest &request) {
  if (Status status = request.check(problem.stages, !problem.fixedPlan.empty());
      !status)
    return status.error();
  if (auto order = programOrder(request.schedule))
    problem.orders = {*order};
  if (Status status = checkAsked(problem, request); !status)
    return status.error();
  bool isPlaced =
      asksForPlaces(request) ||
      (request.schedule != "auto" && !programOrder(request.schedule) &&
       choosesPlanner(request) && problem.askedStages.empty());
  if (!isPlaced || !problem.fixedPlan.empty())
    return planDevices(request, std::move(problem));
  PlacedFamily family;
  family.chunks = request.chunks;
  if (!request.placement.empty())
    family.placement = *parsePlacement(request.placement);
  for (const Generator &generator : allGenerators())
    if (request.schedule == generator.name ||
        (request.schedule == "auto" &&
         !(problem.wholeBackward && generator.splitsBackward)))
      family.generators.push_back(generator);
  Result<Plan> plan = planPlaced(problem, family);
  if (plan && request.schedule == "auto")
    plan = withSearchedOrder(problem, std::move(*plan));
  return plan;
}

} // namespace stagewright
