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
#include "stagewright/Support/Infinity.h"

#include <algorithm>
#include <cmath>
#include <future>
#include <iterator>
#include <memory>
#include <optional>

namespace stagewright {

namespace {
/// Collects the plans for all numbers of shards.
class Best {
public:
  void take(int64_t ways, Planned planned);
  /// For a number of shards without a plan: none was found that is faster than
  /// that of another number, or, if `atLeast` is infinite, none fits in memory.
  void skip(int64_t ways, Seconds atLeast);
  /// For a number of shards for which no plan was found. If it has one, that
  /// takes at least `atLeast`.
  void fail(int64_t ways, const Error &error, Seconds atLeast);
  Result<Planned> result() &&;

private:
  std::optional<Planned> best;
  Seconds bound = Seconds(kInfinity);
  std::vector<std::string> outcomes;
};
} // namespace

static std::string textOf(int64_t ways) {
  return ways == 1 ? "whole layers"
                   : "layers over " + std::to_string(ways) + " shards";
}

void Best::skip(int64_t ways, Seconds atLeast) {
  outcomes.push_back(textOf(ways) +
                     (std::isfinite(atLeast.value)
                          ? ": none faster found, at least " + toString(atLeast)
                          : ": no plan fits in memory"));
  bound = std::min(bound, atLeast);
}

void Best::fail(int64_t ways, const Error &error, Seconds atLeast) {
  outcomes.push_back(textOf(ways) + ": " + error.message);
  bound = std::min(bound, atLeast);
}

void Best::take(int64_t ways, Planned planned) {
  outcomes.push_back(textOf(ways) + ": " + toString(planned.plan.time) +
                     ", at least " + toString(planned.plan.familyBound));
  bound = std::min(bound, planned.plan.familyBound);
  if (!best || planned.plan.time < best->plan.time)
    best = std::move(planned);
}

Result<Planned> Best::result() && {
  if (!best)
    return Error{"no number of shards has a plan", outcomes};
  best->plan.familyBound = std::min(bound, best->plan.time);
  std::vector<std::string> &lines = best->plan.explanation;
  lines.insert(lines.begin(), outcomes.begin(), outcomes.end());
  return std::move(*best);
}

namespace {
/// One form of the backwards of layers over shards.
struct Form {
  Input input;
  PlacedFamily family; ///< The plans that `bound` is for.
  Seconds bound;       ///< No plan of this form takes less.
};
} // namespace

/// The plan of gangs, or none; see planPlacedBelow().
static Result<std::optional<Plan>> planGangs(const PlanOptions &options,
                                             const Problem &problem,
                                             const PlacedFamily &family,
                                             Seconds limit) {
  bool isGiven = !problem.fixedPlan.empty();
  if (options.uniform) // Without a plan, the uniform ones would be lost.
    limit = Seconds(kInfinity);
  if (!isGiven && !(options.repeatsLayers && options.recompute))
    return planPlacedBelow(problem, family, limit);
  Result<Plan> plan =
      isGiven
          ? makePlan(problem, {"fixed", options.schedule,
                               options.chunks.value_or(0), options.placement})
          : planRepeating(problem, family);
  if (!plan)
    return plan.error();
  return std::optional<Plan>(std::move(*plan));
}

/// Plans the gangs of one form of the backwards.
static Result<std::optional<Planned>> planForm(const PlanOptions &options,
                                               Form form,
                                               const std::string &fixed,
                                               Seconds limit) {
  GangProblems &problems = *form.input.gangs;
  Planned planned{problems.most, {}, {}};
  if (options.uniform) {
    Result<std::vector<UniformPlan>> uniform = uniformPlans(problems.most);
    if (!uniform)
      return uniform.error();
    planned.uniform = std::move(*uniform);
  }
  planned.problem.fixedPlan = fixed;
  Result<std::optional<Plan>> plan =
      planGangs(options, planned.problem, form.family, limit);
  if (!plan)
    return plan.error();
  if (!*plan)
    return std::optional<Planned>();
  planned.plan = std::move(**plan);
  return std::optional(std::move(planned));
}

/// The better plan of two forms of the backwards.
static Planned better(Planned one, Planned other) {
  std::vector<UniformPlan> uniform = std::move(one.uniform);
  std::move(other.uniform.begin(), other.uniform.end(),
            std::back_inserter(uniform));
  Planned best =
      other.plan.time < one.plan.time ? std::move(other) : std::move(one);
  best.uniform = std::move(uniform);
  sortByTime(best.uniform);
  return best;
}

/// Reads layers over `ways` shards, in both forms of their backwards, or in
/// that of the schedule or the plan that the options give.
static Result<std::vector<Form>>
readForms(const PlanOptions &options, size_t file, const std::string &fixed,
          int64_t ways, llvm::raw_ostream &messages) {
  std::optional<bool> only;
  bool isChosen = options.schedule == "auto";
  if (!fixed.empty()) {
    only = splitsBackward(fixed);
  } else if (!isChosen) {
    Result<Generator> generator = findGenerator(options.schedule);
    if (!generator)
      return generator.error();
    only = generator->splitsBackward;
  }
  InputReader reader(options, file, ways, messages);
  std::vector<Result<Input>> inputs(only ? 1 : 2, Error{});
  inputs[0] = reader.read(only.value_or(false), only ? nullptr : &inputs[1]);
  std::vector<Form> forms;
  for (Result<Input> &input : inputs) {
    bool halves = only.value_or(&input != &inputs.front());
    if (!input && forms.empty())
      return input.error();
    if (!input || (halves && input->problem.forwardOnly))
      continue;
    Form form{std::move(*input), {}, {}};
    const GangProblems &problems = *form.input.gangs;
    form.family = gangFamily(
        problems.most, isChosen || !fixed.empty() ? "" : options.schedule);
    if (fixed.empty())
      form.family.chunks = options.chunks.value_or(0);
    if (fixed.empty() && form.family.generators.empty())
      continue;
    Result<Seconds> bound = gangBound(problems, form.family);
    if (!bound)
      return bound.error();
    form.bound = *bound;
    forms.push_back(std::move(form));
  }
  if (forms.empty())
    return Error{"the planner of gangs has only schedules with linear or loop "
                 "placement, not '" +
                 options.schedule +
                 "'; use another schedule, such as interleaved-zb"};
  return forms;
}

/// The better plan of the forms, each planned on a thread of its own; none in
/// the same cases as planPlacedBelow(). No plan of any form takes less than
/// `bound`.
static Result<std::optional<Planned>> planForms(const PlanOptions &options,
                                                std::vector<Form> forms,
                                                const std::string &fixed,
                                                Seconds bound, Seconds limit) {
  std::vector<std::future<Result<std::optional<Planned>>>> plans;
  for (Form &form : forms)
    plans.push_back(std::async(std::launch::async, [&] {
      return planForm(options, std::move(form), fixed, limit);
    }));
  Result<std::optional<Planned>> best = Error{};
  bool isAll = true; // No form has left out any plan.
  for (size_t i = 0; i < plans.size(); ++i) {
    Result<std::optional<Planned>> found = plans[i].get();
    isAll &= !found || *found;
    if (best && *best && found && *found)
      best = std::optional(better(std::move(**best), std::move(**found)));
    else if (i == 0 || (found && (*found || !best)))
      best = std::move(found);
  }
  if (!best || !*best)
    return best;
  if (!isAll && !((*best)->plan.time < limit))
    return std::optional<Planned>();
  (*best)->plan.familyBound = std::min(bound, (*best)->plan.time);
  return best;
}

/// Reads layers over `ways` shards.
static Result<ReadLayers> readWays(const PlanOptions &options, size_t file,
                                   const std::string &fixed, int64_t ways,
                                   llvm::raw_ostream &messages) {
  Result<std::vector<Form>> read =
      readForms(options, file, fixed, ways, messages);
  if (!read)
    return read.error();
  Seconds bound(kInfinity);
  for (const Form &form : *read)
    bound = std::min(bound, form.bound);
  auto forms = std::make_shared<std::vector<Form>>(std::move(*read));
  return ReadLayers{bound, [&options, &fixed, forms, bound](Seconds limit) {
                      return planForms(options, std::move(*forms), fixed, bound,
                                       limit);
                    }};
}

/// Numbers of shards whose bounds differ by no more than this factor are
/// planned from the largest to the smallest: more shards have more memory, so
/// their plans are closer to their bounds and take less time to find.
static constexpr double kAlike = 1.1;

/// Indices of the `layers` that could be read: first those with bounds close to
/// the least one (kAlike), then the others by increasing bounds.
static std::vector<size_t>
orderOf(const std::vector<Result<ReadLayers>> &layers) {
  std::vector<size_t> order;
  for (size_t i = layers.size(); i-- > 0;)
    if (layers[i])
      order.push_back(i);
  std::stable_sort(order.begin(), order.end(), [&](size_t a, size_t b) {
    return layers[a]->bound < layers[b]->bound;
  });
  if (order.empty())
    return order;
  double least = layers[order.front()]->bound.value;
  auto end = std::find_if(order.begin(), order.end(), [&](size_t i) {
    return layers[i]->bound.value > kAlike * least;
  });
  std::sort(order.begin(), end, std::greater());
  return order;
}

/// The error of layers without a plan. The memory that is missing takes long to
/// find, so it is stated only if `explains`.
static Error errorOf(const ReadLayers &layers, Error brief, bool explains) {
  if (!layers.why)
    return brief;
  if (explains)
    return layers.why();
  brief.message += " (--explain states what is missing)";
  return brief;
}

/// Plans layers over each of `numbers` of shards in the order of orderOf().
/// Plans whose bound is not below the time of a plan that was found for another
/// number are left out. `explains`: errors are shown even if there is a plan,
/// and say what is missing.
static Result<Planned> planInOrder(const std::vector<int64_t> &numbers,
                                   std::vector<Result<ReadLayers>> &layers,
                                   bool explains) {
  Seconds least(kInfinity);
  std::vector<std::optional<Result<std::optional<Planned>>>> plans(
      numbers.size());
  for (size_t i : orderOf(layers)) {
    bool isSlow = layers[i]->bound >= least && std::isfinite(least.value);
    if (isSlow && (std::isfinite(layers[i]->bound.value) || !explains))
      continue;
    plans[i] = layers[i]->plan(least);
    if (*plans[i] && **plans[i])
      least = std::min(least, (**plans[i])->plan.time);
  }
  Best best;
  for (size_t i = 0; i < numbers.size(); ++i) {
    if (!layers[i])
      best.fail(numbers[i], layers[i].error(), Seconds(kInfinity));
    else if (plans[i] && !*plans[i])
      best.fail(numbers[i],
                errorOf(*layers[i], plans[i]->error(),
                        explains || !std::isfinite(least.value)),
                layers[i]->bound);
    else if (plans[i] && **plans[i])
      best.take(numbers[i], std::move(***plans[i]));
    else
      best.skip(numbers[i], layers[i]->bound);
  }
  return std::move(best).result();
}

Result<Planned> planAlone(const ReadLayers &layers) {
  Result<std::optional<Planned>> plan = layers.plan(Seconds(kInfinity));
  return plan ? Result<Planned>(std::move(**plan)) : plan.error();
}

/// The cluster of the options, or else of the module.
static Result<Cluster> clusterOf(const PlanOptions &options, size_t file) {
  if (!options.cluster.empty())
    return loadCluster(options.cluster);
  // The reader of whole layers has the same remarks.
  std::string messages;
  llvm::raw_string_ostream stream(messages);
  Result<Input> input = InputReader(options, file, 1, stream).read();
  if (input)
    return input->problem.cluster;
  llvm::errs() << messages;
  return input.error();
}

Result<Planned> planShards(
    const PlanOptions &options, size_t file, const std::string &fixed,
    const std::function<Result<ReadLayers>(llvm::raw_ostream &)> &readWhole) {
  auto read = [&](int64_t ways, llvm::raw_ostream &messages) {
    return ways == 1 ? readWhole(messages)
                     : readWays(options, file, fixed, ways, messages);
  };
  if (options.tensorParallel != "auto") {
    Result<ReadLayers> layers = read(*options.shards(), llvm::errs());
    return layers ? planAlone(*layers) : layers.error();
  }
  Result<Cluster> cluster = clusterOf(options, file);
  if (!cluster)
    return cluster.error();
  std::vector<int64_t> numbers = numbersOfShards(*cluster);
  // Each thread keeps its diagnostics, which are printed by increasing numbers.
  std::vector<std::string> messages(numbers.size());
  std::vector<std::future<Result<ReadLayers>>> readers;
  for (size_t i = 0; i < numbers.size(); ++i)
    readers.push_back(std::async(std::launch::async, [&, i] {
      llvm::raw_string_ostream stream(messages[i]);
      return read(numbers[i], stream);
    }));
  std::vector<Result<ReadLayers>> layers;
  for (size_t i = 0; i < numbers.size(); ++i) {
    layers.push_back(readers[i].get());
    llvm::errs() << messages[i];
  }
  return planInOrder(numbers, layers, options.explain);
}

} // namespace stagewright
