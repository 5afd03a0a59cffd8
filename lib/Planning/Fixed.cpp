//===- Fixed.cpp - a plan that the user gives -----------------------------===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "FitShares.h"
#include "stagewright/Planning/DeviceOrder.h"
#include "stagewright/Planning/Evaluate.h"
#include "stagewright/Planning/PiperStep.h"
#include "stagewright/Planning/Placed.h"
#include "stagewright/Planning/PlanJson.h"
#include "stagewright/Planning/Planners.h"
#include "stagewright/Support/ParseNumber.h"
#include <algorithm>
#include <limits>
#include <nlohmann/json.hpp>
#include <sstream>

namespace stagewright {

namespace {
/// A stage as written: "[0,19)x15", or "[0,19)x15r" if it recomputes, or
/// "[0,19)@d0+d3"; then ":3+1" if the samples of the replicas are stated.
struct WrittenStage {
  int64_t first = 0, end = 0, replicas = 1;
  std::vector<size_t> devices; ///< Empty: the next `replicas` of the order.
  bool recompute = false;
  std::vector<int64_t> rows; ///< Samples. Empty: by the speed of the devices.
};

/// Parses a stage from left to right.
class StageText {
public:
  explicit StageText(std::string_view text) : rest(text) {}

  bool take(char c) {
    if (rest.empty() || rest.front() != c)
      return false;
    rest.remove_prefix(1);
    return true;
  }
  bool take(int64_t &number) {
    std::optional<int64_t> taken = takeNumber(rest);
    number = taken.value_or(number);
    return taken.has_value();
  }
  std::string_view takeUntil(const char *ends) {
    std::string_view name = rest.substr(0, rest.find_first_of(ends));
    rest.remove_prefix(name.size());
    return name;
  }
  bool isDone() const { return rest.empty(); }

private:
  std::string_view rest;
};
} // namespace

/// Reads "d0+d3".
static Status parseDevices(const Problem &problem, StageText &text,
                           const std::string &written, WrittenStage &stage) {
  do {
    std::string name(text.takeUntil("+:"));
    const std::vector<Device> &all = problem.cluster.devices;
    auto found = std::find_if(all.begin(), all.end(),
                              [&](const Device &d) { return d.name == name; });
    if (found == all.end())
      return Error{"stage '" + written + "' of the plan names device '" + name +
                   "', which cluster '" + problem.cluster.name +
                   "' does not have"};
    stage.devices.push_back(size_t(found - all.begin()));
  } while (text.take('+'));
  return {};
}

static Result<WrittenStage> parseStage(const Problem &problem,
                                       const std::string &written) {
  WrittenStage stage;
  StageText text(written);
  bool isRange = text.take('[') && text.take(stage.first) && text.take(',') &&
                 text.take(stage.end) && text.take(')');
  if (isRange && text.take('@')) {
    if (Status status = parseDevices(problem, text, written, stage); !status)
      return status.error();
  } else if (isRange) {
    if (text.take('x') && !text.take(stage.replicas))
      isRange = false;
    stage.recompute = text.take('r');
  }
  if (isRange && text.take(':'))
    do
      isRange = text.take(stage.rows.emplace_back());
    while (isRange && text.take('+'));
  if (!isRange || !text.isDone())
    return Error{"stage '" + written +
                 "' of the plan is not of the form [first,end)xreplicas, "
                 "followed by r if it recomputes, or [first,end)@d0+d1; :3+1 "
                 "after either form states the samples of its replicas"};
  int64_t layers = int64_t(problem.layers.size());
  if (stage.first < 0 || stage.first >= stage.end || stage.end > layers)
    return Error{"stage '" + written +
                 "' of the plan needs 0 <= first < end <= " +
                 std::to_string(layers) + ", the number of layers"};
  int64_t devices = int64_t(problem.cluster.devices.size());
  if (stage.replicas < 1 || stage.replicas > devices)
    return Error{"stage '" + written + "' of the plan needs 1 to " +
                 std::to_string(devices) + " replicas, as many as cluster '" +
                 problem.cluster.name + "' has devices"};
  return stage;
}

/// Puts the stages on their devices, or else on the next ones of `order`.
static Plan place(const std::vector<WrittenStage> &stages,
                  const std::vector<size_t> &order) {
  Plan plan;
  size_t next = 0;
  for (const WrittenStage &written : stages) {
    StagePlan stage = stageOf(written.first, written.end, written.devices);
    if (written.devices.empty())
      for (int64_t i = 0; i < written.replicas; ++i)
        stage.devices.push_back(order[next++]);
    stage.recompute = written.recompute;
    stage.rows = written.rows;
    plan.stages.push_back(std::move(stage));
  }
  return plan;
}

/// The plans for a text in ranges: on recursively ordered devices, and on these
/// in reverse.
static Result<std::vector<Plan>> parseRanges(const Problem &problem,
                                             const Network &network) {
  std::vector<WrittenStage> stages;
  std::istringstream words(problem.fixedPlan);
  int64_t taken = 0;
  for (std::string word; words >> word;) {
    Result<WrittenStage> stage = parseStage(problem, word);
    if (!stage)
      return stage.error();
    taken += stage->devices.empty() ? stage->replicas : 0;
    stages.push_back(std::move(*stage));
  }
  if (stages.empty())
    return Error{"planner 'fixed' has no plan; give one, such as \"[0,2)x2 "
                 "[2,3)x1\" or the JSON of a plan"};
  if (taken > int64_t(problem.cluster.devices.size()))
    return Error{"the plan needs " + std::to_string(taken) +
                 " devices, cluster '" + problem.cluster.name + "' has " +
                 std::to_string(problem.cluster.devices.size()) +
                 "; take fewer replicas or a larger cluster"};
  std::vector<size_t> order = recursiveOrder(network);
  std::vector<Plan> plans = {place(stages, order)};
  std::reverse(order.begin(), order.end());
  plans.push_back(place(stages, order));
  return plans;
}

/// Checks and simulates one plan.
static Status finish(const Problem &problem, const Network &network,
                     Plan &plan) {
  plan.planner = "fixed";
  if (Status status = verifyStages(problem, plan); !status)
    return status;
  // With the recomputation that the plan states; simulateSamples() may add
  // more.
  Status fits = verify(problem, plan);
  bool shares = std::any_of(
      plan.stages.begin(), plan.stages.end(),
      [&](const StagePlan &stage) { return mayShare(problem, stage); });
  if (Status status = simulateSamples(problem, network, plan); !status)
    return fits || shares
               ? status // It also says for how many samples there is room.
               : Error{fits.error().message +
                       "; give the stage fewer layers or more replicas, or "
                       "the device more memory"};
  plan.value = plan.time.value;
  return {};
}

/// A plan in JSON, in the order it states unless the problem limits the orders.
static Result<Plan> planOfJson(const Problem &problem, const Network &network) {
  Result<Plan> plan = planFromJson(problem.fixedPlan, "the plan", problem);
  if (!plan)
    return plan;
  if (!plan->schedule.empty()) {
    plan->planner = "fixed";
    Problem any = problem;
    any.stages = 0; // Stages may share devices.
    if (Status status = verifyStages(any, *plan); !status)
      return status.error();
    if (Status status = evaluatePlaced(problem, network,
                                       *findGenerator(plan->schedule), *plan);
        !status)
      return status.error();
    return plan;
  }
  Problem asked = problem;
  if (nlohmann::json::parse(problem.fixedPlan, nullptr, false)
          .contains("order") &&
      problem.orders == allExecutionOrders())
    asked.orders = {plan->order};
  if (Status status = finish(asked, network, *plan); !status)
    return status.error();
  return plan;
}

Result<Plan> planFixed(const Problem &problem) {
  if (Status status = problem.check(); !status)
    return status.error();
  Result<Network> network = Network::create(problem.cluster);
  if (!network)
    return network.error();
  if (problem.fixedPlan.find('{') != std::string::npos)
    return planOfJson(problem, *network);
  Result<std::vector<Plan>> plans = parseRanges(problem, *network);
  if (!plans)
    return plans.error();
  std::optional<Plan> best;
  Status failure;
  for (Plan &plan : *plans) {
    Status status = finish(problem, *network, plan);
    if (!status && failure)
      failure = status;
    if (status && (!best || plan.time < best->time))
      best = std::move(plan);
  }
  if (!best)
    return failure.error();
  return *best;
}

} // namespace stagewright
