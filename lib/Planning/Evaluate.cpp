//===- Evaluate.cpp - time and memory of a plan ---------------------------===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "stagewright/Planning/Evaluate.h"
#include "Bindings.h"
#include "FitLevels.h"
#include "stagewright/Planning/Bounds.h"
#include <algorithm>
#include <cmath>
#include <limits>

namespace stagewright {

namespace {
/// Whether a plan fits in the memory of the devices under one order.
struct Fit {
  bool fits = true;
  /// Where the most memory is missing, or the least is left.
  size_t stage = 0, device = 0;
  Bytes need;
};
} // namespace

/// Whether `plan` fits under `order`, and where memory is tightest.
static Fit fitOf(const Problem &problem, const LayerIndex &index,
                 const Plan &plan, ExecutionOrder order) {
  Fit fit;
  double least = -std::numeric_limits<double>::infinity();
  std::vector<Bytes> need(problem.cluster.devices.size());
  for (size_t s = 0; s < plan.stages.size(); ++s) {
    // The planner that chose alternatives has checked their memory.
    if (!plan.stages[s].alternatives.empty())
      continue;
    std::vector<Bytes> bytes = memoryOf(problem, index, plan, s, order);
    for (size_t i = 0; i < bytes.size(); ++i) {
      size_t device = plan.stages[s].devices[i];
      need[device] += bytes[i];
      Bytes over = need[device] - problem.cluster.devices[device].memory;
      if (double(over.value) <= least)
        continue;
      least = double(over.value);
      fit = {over.value <= 0, s, device, need[device]};
    }
  }
  return fit;
}

Seconds boundOf(Seconds bound, Seconds time) {
  // Sums in another order differ by rounding.
  constexpr double kRounding = 1e-9, kLeast = 1e-300;
  bool isRounding = bound.value <= time.value * (1 + kRounding) + kLeast;
  return isRounding ? std::min(bound, time) : bound;
}

Status evaluate(const Problem &problem, const Network &network, Plan &plan) {
  if (routesOf(problem, plan) > kMostRoutes)
    return Error{
        "replicas that take microbatches in turn give these more than " +
        std::to_string(kMostRoutes) +
        " routes through the stages; use numbers of replicas with a "
        "smaller common multiple"};
  LevelCurve curve(problem);
  curve.state(plan.stages);
  PipelineModel model = pipelineOf(problem, network, plan);
  std::optional<std::pair<Plan, PipelineModel>> leveled;
  Seconds best(std::numeric_limits<double>::infinity());
  std::optional<Fit> closest;
  std::vector<std::pair<ExecutionOrder, Fit>> tooLarge;
  for (ExecutionOrder order : problem.orders) {
    std::optional<Plan> stated = curve.offloadAll(plan, order);
    Fit fit = fitOf(problem, curve.layers(), stated ? *stated : plan, order);
    if (!fit.fits || stated) {
      if (!fit.fits) {
        if (!closest || fit.need < closest->need)
          closest = fit;
        tooLarge.push_back({order, fit});
      }
      if (!stated && curve.empty())
        continue;
      Plan trial = stated ? std::move(*stated) : plan;
      trial.order = order;
      curve.fit(trial, order);
      if (!fitOf(problem, curve.layers(), trial, order).fits)
        continue;
      PipelineModel slower = pipelineOf(problem, network, trial);
      Seconds time = makespanOf(slower, order, best);
      if (!(time < best))
        continue;
      best = time;
      leveled = {std::move(trial), std::move(slower)};
      continue;
    }
    Seconds time = makespanOf(model, order);
    if (!(time < best))
      continue;
    best = time;
    plan.order = order;
    leveled.reset();
  }
  if (std::isinf(best.value)) {
    if (!closest)
      return Error{"stages that share a device wait for each other in every "
                   "allowed order; allow the order greedy"};
    const Device &device = problem.cluster.devices[closest->device];
    return Error{"stage " + std::to_string(closest->stage) + " needs " +
                 toString(closest->need) + " on device " + device.name +
                 ", has " + toString(device.memory) +
                 "; use more stages, fewer microbatches or a device with " +
                 toString(closest->need - device.memory) + " more"};
  }
  if (leveled)
    std::tie(plan, model) = std::move(*leveled);
  for (StagePlan &stage : plan.stages)
    if (std::all_of(stage.levels.begin(), stage.levels.end(),
                    [](int64_t level) { return level == 0; }))
      stage.levels.clear();
  plan.time = best;
  for (size_t s = 0; s < plan.stages.size(); ++s)
    if (plan.stages[s].alternatives.empty()) {
      std::vector<Bytes> bytes =
          memoryOf(problem, curve.layers(), plan, s, plan.order);
      plan.stages[s].memory = *std::max_element(bytes.begin(), bytes.end());
      bytes = hostMemoryOf(problem, plan, s, plan.order);
      plan.stages[s].host = *std::max_element(bytes.begin(), bytes.end());
    }
  // A stage is bound by memory if it excludes an order that would be faster.
  const Fit *excluded = nullptr;
  for (const auto &[order, fit] : tooLarge)
    if (makespanOf(model, order, best) < best)
      excluded = &fit;
  findBindings(model, plan);
  if (excluded)
    plan.stages[excluded->stage].binding = Binding::Memory;
  plan.planBound = boundOf(planLowerBound(model), plan.time);
  plan.upperBound = windowUpperBound(model);
  return verify(problem, plan);
}

} // namespace stagewright
