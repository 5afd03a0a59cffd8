//===- Evaluate.cpp - time and memory of a plan ---------------------------===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "stagewright/Planning/Evaluate.h"
#include "Bindings.h"
#include "FitLevels.h"
#include "FitShares.h"
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
  Bytes need, over; ///< Of the device; `over` is negative if it fits.
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
      fit = {over.value <= 0, s, device, need[device], over};
    }
  }
  return fit;
}

/// Changed forms of `plan` that fit under `order`: one with layers that
/// recompute or are offloaded, one with other shares of replicas, and if
/// neither fits, one with both. With `always` the first is tried even if no
/// layer may recompute or be offloaded: `plan` itself may fit.
static std::vector<Plan> repairsOf(const Problem &problem,
                                   const LevelCurve &curve, Plan plan,
                                   ExecutionOrder order, bool always) {
  plan.order = order;
  std::vector<Plan> found;
  auto keep = [&](Plan &&trial) {
    if (fitOf(problem, curve.layers(), trial, order).fits)
      found.push_back(std::move(trial));
  };
  auto fitted = [&](Plan trial) {
    curve.fit(trial, order);
    return trial;
  };
  if (always || !curve.empty())
    keep(fitted(plan));
  Plan shared = plan;
  if (fitShares(problem, curve.layers(), shared, order))
    keep(std::move(shared));
  shared = plan;
  if (found.empty() && !curve.empty() &&
      fitShares(problem, curve.layers(), shared, order,
                [&](StagePlan &stage) { curve.leastMemory(stage); }))
    keep(fitted(std::move(shared)));
  return found;
}

/// Why stage `s` of `plan` cannot fit under `order`, even at the levels of
/// least memory and with any shares, as a text to add to the error; the text is
/// empty if only memory is the reason. None if the stage can fit.
static std::optional<std::string> whyLost(const Problem &problem,
                                          const LevelCurve &curve, Plan plan,
                                          size_t s, ExecutionOrder order) {
  StagePlan &stage = plan.stages[s];
  bool isFixed = !stage.alternatives.empty();
  if (isFixed) // The planner that chose them has checked their memory.
    return std::nullopt;
  curve.leastMemory(stage);
  std::vector<Bytes> bytes = memoryOf(problem, curve.layers(), plan, s, order);
  bool fits = true;
  for (size_t i = 0; i < bytes.size(); ++i)
    fits &= bytes[i] <= problem.cluster.devices[stage.devices[i]].memory;
  if (fits)
    return std::nullopt;
  if (!mayShare(problem, stage))
    return "";
  int64_t room = 0;
  bool hasEmpty = false;
  for (const ReplicaRoom &replica :
       roomsOf(problem, curve.layers(), plan, s, order)) {
    room += replica.most;
    hasEmpty |= replica.most == 0;
  }
  if (room < problem.samples)
    return "; with any shares its devices have room for " +
           std::to_string(room) + " of the " + std::to_string(problem.samples) +
           " samples of a microbatch";
  if (hasEmpty)
    return "; a device of the stage has no room for a single sample";
  return std::nullopt;
}

/// The error for a plan that fits under no order; `fit` is the closest one. It
/// names a stage that cannot fit, if there is one: the tightest stage may fit
/// with recomputation or other shares.
static Error notFitting(const Problem &problem, const LevelCurve &curve,
                        const Plan &plan, ExecutionOrder order, Fit fit) {
  std::optional<std::string> why =
      whyLost(problem, curve, plan, fit.stage, order);
  for (size_t s = 0; s < plan.stages.size() && !why; ++s) {
    why = whyLost(problem, curve, plan, s, order);
    if (!why)
      continue;
    std::vector<Bytes> need = memoryOf(problem, curve.layers(), plan, s, order);
    fit.over = Bytes(std::numeric_limits<int64_t>::min());
    for (size_t i = 0; i < need.size(); ++i) {
      size_t device = plan.stages[s].devices[i];
      Bytes over = need[i] - problem.cluster.devices[device].memory;
      if (over > fit.over)
        fit = {false, s, device, need[i], over};
    }
  }
  return Error{
      "stage " + std::to_string(fit.stage) + " needs " + toString(fit.need) +
      " on device " + problem.cluster.devices[fit.device].name + ", has " +
      toString(problem.cluster.devices[fit.device].memory) + why.value_or("") +
      "; use more stages, fewer microbatches or a device with " +
      toString(fit.over) + " more"};
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
        "replicas that take microbatches in turn give microbatches more than " +
        std::to_string(kMostRoutes) +
        " routes through the stages; use numbers of replicas with a "
        "smaller common multiple"};
  LevelCurve curve(problem);
  curve.state(plan.stages);
  PipelineModel model = pipelineOf(problem, network, plan);
  std::optional<std::pair<Plan, PipelineModel>> leveled;
  Seconds best(std::numeric_limits<double>::infinity());
  std::optional<Fit> closest;
  ExecutionOrder closestOrder = plan.order;
  std::vector<std::pair<ExecutionOrder, Fit>> tooLarge;
  for (ExecutionOrder order : problem.orders) {
    std::optional<Plan> stated = curve.offloadAll(plan, order);
    Fit fit = fitOf(problem, curve.layers(), stated ? *stated : plan, order);
    if (!fit.fits || stated) {
      if (!fit.fits) {
        if (!closest || fit.over < closest->over) {
          closest = fit;
          closestOrder = order;
        }
        tooLarge.push_back({order, fit});
      }
      for (Plan &trial : repairsOf(problem, curve, stated ? *stated : plan,
                                   order, stated.has_value())) {
        PipelineModel slower = pipelineOf(problem, network, trial);
        Seconds time = makespanOf(slower, order, best);
        if (!(time < best))
          continue;
        best = time;
        leveled = {std::move(trial), std::move(slower)};
      }
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
    return notFitting(problem, curve, plan, closestOrder, *closest);
  }
  std::vector<size_t> reshared; // Stages whose shares are not those by speed.
  if (leveled) {
    for (size_t s = 0; s < plan.stages.size(); ++s)
      if (sharesOf(problem, plan.stages[s]) !=
          sharesOf(problem, leveled->first.stages[s]))
        reshared.push_back(s);
    std::tie(plan, model) = std::move(*leveled);
  }
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
  for (size_t s : reshared)
    plan.stages[s].binding = Binding::Memory;
  if (excluded)
    plan.stages[excluded->stage].binding = Binding::Memory;
  plan.planBound = boundOf(planLowerBound(model), plan.time);
  plan.upperBound = windowUpperBound(model);
  return verify(problem, plan);
}

} // namespace stagewright
