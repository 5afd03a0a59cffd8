//===- PassedValues.cpp - values between stages of a rank -----------------===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Placed/PassedValues.h"
#include "LayerIndex.h"
#include <algorithm>
#include <set>

namespace stagewright {

namespace {
/// Moves what passes between stages of the same devices from the memory of the
/// stages to a list.
class PassedValues {
public:
  PassedValues(const Problem &problem, const std::vector<StagePlan> &stages,
               StagesMemory &result);

  void add(const LayerValue &value);
  /// If several stages of the same devices read a parameter, counts it once, in
  /// the first of these stages.
  void countOnce(const Resident &resident);

private:
  bool isOn(size_t stage, size_t other) const {
    return stages[stage].devices == stages[other].devices;
  }

  const Problem &problem;
  const std::vector<StagePlan> &stages;
  std::vector<int64_t> stageOf, levelOf; ///< By layer.
  StagesMemory &result;
};
} // namespace

PassedValues::PassedValues(const Problem &problem,
                           const std::vector<StagePlan> &stages,
                           StagesMemory &result)
    : problem(problem), stages(stages), stageOf(problem.layers.size(), -1),
      levelOf(problem.layers.size(), 0), result(result) {
  for (size_t stage = 0; stage < stages.size(); ++stage)
    for (size_t i = 0; i < stages[stage].layers.size(); ++i) {
      auto layer = size_t(stages[stage].layers[i]);
      stageOf[layer] = int64_t(stage);
      levelOf[layer] = stages[stage].levelOf(i);
    }
}

void PassedValues::add(const LayerValue &value) {
  int64_t stage = stageOf[size_t(value.producer.layer)];
  if (stage < 0)
    return;
  auto stageHere = [&](const LayerPhase &phase) -> std::optional<size_t> {
    int64_t own = stageOf[size_t(phase.layer)];
    if (own < 0 || !phase.isAt(levelOf[size_t(phase.layer)]) ||
        !isOn(size_t(own), size_t(stage)))
      return std::nullopt;
    return size_t(own);
  };
  int64_t bytes = problem.slotOf(value.bytes).value;
  for (const auto &[to, place] : passedUses(value, stageHere)) {
    if (stages[to].recompute)
      continue;
    if (int64_t *counter =
            counterOf(value, place, /*recompute=*/false, result.stages[to])) {
      *counter -= bytes;
      result.passed.push_back({stage, value.producer.phase, int64_t(to),
                               place.weightUse  ? ActionKind::WeightGradient
                               : place.inputUse ? ActionKind::InputGradient
                                                : ActionKind::Forward,
                               bytes});
    }
  }
}

void PassedValues::countOnce(const Resident &resident) {
  if (resident.kind != ResidentKind::Parameter)
    return; // Each stage has a buffer of its own.
  std::set<size_t> holders;
  for (int64_t layer : resident.layers)
    if (int64_t stage = stageOf[size_t(layer)]; stage >= 0)
      holders.insert(size_t(stage));
  int64_t bytes = problem.slotOf(resident.bytes).value;
  for (auto later = holders.begin(); later != holders.end(); ++later)
    if (std::any_of(holders.begin(), later,
                    [&](size_t first) { return isOn(*later, first); }))
      result.stages[*later].once -= bytes;
}

StagesMemory memoryOfStages(const Problem &problem,
                            const std::vector<StagePlan> &stages) {
  StagesMemory result;
  LayerIndex index(problem);
  for (const StagePlan &stage : stages)
    result.stages.push_back(stageMemory(problem, index, stage));
  if (!problem.model.sharesRings || problem.forwardOnly)
    return result;
  PassedValues passed(problem, stages, result);
  for (const LayerValue &value : problem.values)
    passed.add(value);
  for (const Resident &resident : problem.residents)
    passed.countOnce(resident);
  return result;
}

} // namespace stagewright
