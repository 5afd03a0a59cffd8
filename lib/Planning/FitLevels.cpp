//===- FitLevels.cpp - recomputation levels that fit in memory ------------===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "FitLevels.h"
#include <algorithm>
#include <tuple>

namespace stagewright {

std::vector<std::vector<double>> bytesKept(const Problem &problem) {
  std::vector<std::vector<double>> kept;
  for (const Layer &layer : problem.layers)
    kept.emplace_back(layer.levels.size() + 1, 0);
  for (const LayerValue &value : problem.values) {
    if (value.producer.phase != ActionKind::Forward)
      continue;
    // The producer keeps the value if its own backward uses it, else the first
    // layer whose backward does.
    int64_t keeper = -1;
    for (const LayerPhase &use : value.uses)
      if (use.phase != ActionKind::Forward && keeper != value.producer.layer &&
          (keeper < 0 || use.layer < keeper ||
           use.layer == value.producer.layer))
        keeper = use.layer;
    if (keeper < 0)
      continue;
    for (size_t level = 0; level < kept[keeper].size(); ++level)
      if (std::any_of(value.uses.begin(), value.uses.end(),
                      [&](const LayerPhase &use) {
                        return use.layer == keeper &&
                               use.phase != ActionKind::Forward &&
                               use.isAt(int64_t(level));
                      }))
        kept[keeper][level] += double(problem.slotOf(value.bytes).value);
  }
  return kept;
}

/// Bytes of a microbatch that the I of each layer keeps for its W, by layer and
/// level: what I recomputes at a level may be kept until W. Empty if no I keeps
/// anything.
static std::vector<std::vector<double>> bytesBetween(const Problem &problem) {
  std::vector<std::vector<double>> between;
  for (const LayerValue &value : problem.values) {
    if (value.producer.phase != ActionKind::InputGradient)
      continue;
    size_t layer = size_t(value.producer.layer);
    for (const LayerPhase &use : value.uses) {
      if (use.layer != value.producer.layer ||
          use.phase != ActionKind::WeightGradient)
        continue;
      if (between.empty())
        for (const Layer &each : problem.layers)
          between.emplace_back(each.levels.size() + 1, 0);
      for (size_t level = 0; level < between[layer].size(); ++level)
        if (use.isAt(int64_t(level)))
          between[layer][level] += double(problem.slotOf(value.bytes).value);
      break;
    }
  }
  return between;
}

LevelCurve::LevelCurve(const Problem &problem)
    : problem(problem), classOf(problem.cluster.classOfDevices()),
      index(problem) {
  mayRise = problem.recompute && problem.level < 0 && problem.mostLevels() > 0;
  if (!mayRise)
    return;
  kept = bytesKept(problem);
  between = bytesBetween(problem);
}

void LevelCurve::state(std::vector<StagePlan> &stages) const {
  if (problem.level < 0 || problem.mostLevels() == 0)
    return;
  for (StagePlan &stage : stages) {
    stage.levels.clear();
    for (int64_t layer : stage.layers)
      stage.levels.push_back(std::min(
          problem.level, int64_t(problem.layers[layer].levels.size())));
  }
}

void LevelCurve::leastMemory(StagePlan &stage) const {
  if (mayRise && !stage.recompute && stage.levels.empty() &&
      stage.alternatives.empty())
    for (int64_t layer : stage.layers)
      stage.levels.push_back(int64_t(problem.layers[layer].levels.size()));
  if (mayOffload(stage) && stage.offload.empty())
    stage.offload = stage.layers;
}

void LevelCurve::fit(Plan &plan, ExecutionOrder order) const {
  auto fits = [&](size_t s) {
    std::vector<Bytes> need = memoryOf(problem, index, plan, s, order);
    const std::vector<size_t> &devices = plan.stages[s].devices;
    for (size_t i = 0; i < need.size(); ++i)
      if (need[i] > problem.cluster.devices[devices[i]].memory)
        return false;
    return true;
  };
  for (size_t s = 0; s < plan.stages.size(); ++s) {
    StagePlan &stage = plan.stages[s];
    if (fits(s))
      continue;
    if (mayOffload(stage) && stage.offload.empty())
      fitOffload(plan, s, order, [&] { return fits(s); });
    else
      fit({{&stage, 1}}, classOf[stage.devices.front()],
          [&] { return fits(s); });
  }
}

namespace {
struct Step {
  double price;         ///< Seconds per byte.
  size_t stage, number; ///< Index of the stage, of its layer.
  int64_t level;        ///< New level of the layer.
};
} // namespace

void LevelCurve::fit(std::vector<LeveledStage> stages, size_t deviceClass,
                     const std::function<bool()> &fits) const {
  if (!mayRise || fits())
    return;
  std::erase_if(stages, [](const LeveledStage &of) {
    return of.stage->recompute || !of.stage->levels.empty() ||
           !of.stage->alternatives.empty();
  });
  std::vector<Step> steps;
  for (size_t s = 0; s < stages.size(); ++s)
    for (size_t i = 0; i < stages[s].stage->layers.size(); ++i) {
      int64_t number = stages[s].stage->layers[i];
      const Layer &layer = problem.layers[number];
      double price = 0;
      for (size_t level = 1; level <= layer.levels.size(); ++level) {
        double bytes =
            stages[s].copies * (kept[number][level - 1] - kept[number][level]);
        if (!between.empty())
          bytes += stages[s].between *
                   (between[number][level - 1] - between[number][level]);
        double seconds = (layer.again(int64_t(level), deviceClass) -
                          layer.again(int64_t(level) - 1, deviceClass))
                             .value;
        // Prices of one layer never fall, so that its steps stay in order.
        price = std::max(price,
                         bytes > 0 ? seconds / bytes : std::max(seconds, 1.0));
        steps.push_back({price, s, i, int64_t(level)});
      }
    }
  // Among steps of equal price lower levels come first, then lower layers, so
  // that equal stages get about the same levels.
  std::stable_sort(
      steps.begin(), steps.end(), [](const Step &a, const Step &b) {
        return std::tie(a.price, a.level) < std::tie(b.price, b.level);
      });
  auto take = [&](size_t count) {
    for (LeveledStage &of : stages)
      of.stage->levels.assign(of.stage->layers.size(), 0);
    for (size_t i = 0; i < count; ++i)
      stages[steps[i].stage].stage->levels[steps[i].number] = steps[i].level;
  };
  size_t fewest = firstWhere(1, steps.size(), [&](size_t count) {
    take(count);
    return fits();
  });
  take(std::min(fewest, steps.size()));
}

} // namespace stagewright
