//===- Shards.cpp - plans of layers that are split ------------------------===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Shards.h"

#include "stagewright/Pipelines/Shards.h"
#include "stagewright/Planning/PlanJson.h"
#include "stagewright/Planning/Request.h"
#include "stagewright/Scheduling/Generators.h"

#include <future>
#include <iterator>
#include <limits>
#include <optional>

namespace stagewright {

namespace {
/// Collects the plans for all numbers of shards.
class Best {
public:
  void take(int64_t ways, Result<Planned> planned);
  Result<Planned> result() &&;

private:
  std::optional<Planned> best;
  Seconds bound = Seconds(std::numeric_limits<double>::infinity());
  std::vector<std::string> outcomes;
};
} // namespace

void Best::take(int64_t ways, Result<Planned> planned) {
  std::string text = ways == 1
                         ? "whole layers"
                         : "layers over " + std::to_string(ways) + " shards";
  if (!planned) {
    outcomes.push_back(text + ": " + planned.error().message);
    return;
  }
  outcomes.push_back(text + ": " + toString(planned->plan.time) +
                     ", at least " + toString(planned->plan.familyBound));
  bound = std::min(bound, planned->plan.familyBound);
  if (!best || planned->plan.time < best->plan.time)
    best = std::move(*planned);
}

Result<Planned> Best::result() && {
  if (!best)
    return Error{"no number of shards has a plan", outcomes};
  best->plan.familyBound = std::min(bound, best->plan.time);
  std::vector<std::string> &lines = best->plan.explanation;
  lines.insert(lines.begin(), outcomes.begin(), outcomes.end());
  return std::move(*best);
}

/// `planned` with `plan`, which gets the bound of `family`.
static Result<std::optional<Planned>> withBound(Planned planned, Plan plan,
                                                const GangProblems &problems,
                                                const PlacedFamily &family) {
  Result<Seconds> bound = gangBound(problems, family);
  if (!bound)
    return bound.error();
  plan.familyBound = std::min(*bound, plan.time);
  planned.plan = std::move(plan);
  return std::optional(std::move(planned));
}

/// Plans the gangs of one form of the backwards; no plan if there is no
/// schedule for it.
static Result<std::optional<Planned>>
planForm(const PlanOptions &options, Input input, const std::string &fixed) {
  GangProblems &problems = *input.gangs;
  Planned planned{problems.most, {}, {}};
  if (options.uniform) {
    Result<std::vector<UniformPlan>> uniform = uniformPlans(problems.most);
    if (!uniform)
      return uniform.error();
    planned.uniform = std::move(*uniform);
  }
  if (!fixed.empty()) {
    planned.problem.fixedPlan = fixed;
    Result<Plan> plan = makePlan(planned.problem, {"fixed", options.schedule,
                                                   options.chunks.value_or(0),
                                                   options.placement});
    if (!plan)
      return plan.error();
    return withBound(std::move(planned), std::move(*plan), problems,
                     gangFamily(problems.most, ""));
  }
  PlacedFamily family = gangFamily(
      problems.most, options.schedule == "auto" ? "" : options.schedule);
  family.chunks = options.chunks.value_or(0);
  if (family.generators.empty())
    return std::optional<Planned>();
  Result<Plan> plan = options.repeatsLayers && options.recompute
                          ? planRepeating(problems.most, family)
                          : planPlaced(problems.most, family);
  if (!plan)
    return plan.error();
  return withBound(std::move(planned), std::move(*plan), problems, family);
}

/// The better plan of two forms of the backwards.
static Planned better(Planned one, Planned other) {
  Seconds bound = std::min(one.plan.familyBound, other.plan.familyBound);
  std::vector<UniformPlan> uniform = std::move(one.uniform);
  std::move(other.uniform.begin(), other.uniform.end(),
            std::back_inserter(uniform));
  Planned best =
      other.plan.time < one.plan.time ? std::move(other) : std::move(one);
  best.plan.familyBound = bound;
  best.uniform = std::move(uniform);
  sortByTime(best.uniform);
  return best;
}

/// The better plan of whole backwards and of halves, each planned on a thread
/// of its own.
static Result<Planned> planWays(const PlanOptions &options, size_t file,
                                const std::string &fixed, int64_t ways) {
  std::optional<bool> form; // The only one of the schedule or the plan.
  if (!fixed.empty()) {
    form = splitsBackward(fixed);
  } else if (options.schedule != "auto") {
    Result<Generator> generator = findGenerator(options.schedule);
    if (!generator)
      return generator.error();
    form = generator->splitsBackward;
  }
  std::vector<Input> inputs;
  std::optional<Error> problem;
  for (InputReader reader(options, file, ways); bool halves : {false, true}) {
    if (problem || (form && halves != *form))
      continue;
    Result<Input> input = reader.read(halves);
    if (!input && inputs.empty())
      problem = input.error();
    else if (input && (!halves || !input->problem.forwardOnly))
      inputs.push_back(std::move(*input));
  }
  std::vector<std::future<Result<std::optional<Planned>>>> forms;
  for (Input &input : inputs)
    forms.push_back(std::async(std::launch::async, [&] {
      return planForm(options, std::move(input), fixed);
    }));
  std::optional<Planned> best;
  for (auto &future : forms) {
    Result<std::optional<Planned>> found = future.get();
    if (!found && !problem)
      problem = found.error();
    if (!found || !*found)
      continue;
    best = best ? better(std::move(*best), std::move(**found))
                : std::move(**found);
  }
  if (best)
    return std::move(*best);
  return problem ? *problem
                 : Error{"the schedule '" + options.schedule +
                         "' does not go around the devices, as those of shards "
                         "do; use another one, such as interleaved-zb"};
}

/// The cluster of the options, or else of the module.
static Result<Cluster> clusterOf(const PlanOptions &options, size_t file) {
  if (!options.cluster.empty())
    return loadCluster(options.cluster);
  Result<Input> input = InputReader(options, file).read();
  if (!input)
    return input.error();
  return input->problem.cluster;
}

Result<Planned> planShards(const PlanOptions &options, size_t file,
                           const std::string &fixed,
                           const std::function<Result<Planned>()> &whole) {
  if (options.tensorParallel != "auto")
    return planWays(options, file, fixed, *options.shards());
  Result<Cluster> cluster = clusterOf(options, file);
  if (!cluster)
    return cluster.error();
  std::vector<int64_t> numbers = numbersOfShards(*cluster);
  std::vector<std::future<Result<Planned>>> plans;
  for (int64_t ways : numbers)
    plans.push_back(std::async(std::launch::async, [&, ways] {
      return ways == 1 ? whole() : planWays(options, file, fixed, ways);
    }));
  Best best;
  for (size_t i = 0; i < numbers.size(); ++i)
    best.take(numbers[i], plans[i].get());
  return std::move(best).result();
}

} // namespace stagewright
