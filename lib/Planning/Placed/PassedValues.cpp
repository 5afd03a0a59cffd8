//===- PassedValues.cpp - values between stages of a rank -----------------===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Placed/PassedValues.h"
#include "LayerIndex.h"
#include "ValuePlace.h"
#include <algorithm>
#include <map>
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
  /// Counts what several stages of the same devices hold in the first one.
  void countOnce(const Resident &resident);

private:
  /// How the stages use `value`, by stage.
  std::map<size_t, ValuePlace> placesOf(const LayerValue &value) const;
  bool isOn(size_t stage, size_t other) const {
    return stages[stage].devices == stages[other].devices;
  }
  void addOwn(const LayerValue &value,
              const std::map<size_t, ValuePlace> &places);
  void countOnce(const LayerValue &value,
                 const std::map<size_t, ValuePlace> &places);
  bool drop(const LayerValue &value, size_t stage, const ValuePlace &place);

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

std::map<size_t, ValuePlace>
PassedValues::placesOf(const LayerValue &value) const {
  std::map<size_t, ValuePlace> places;
  for (const LayerPhase &use : value.uses)
    if (int64_t stage = stageOf[size_t(use.layer)];
        stage >= 0 && use.isAt(levelOf[size_t(use.layer)]))
      places[size_t(stage)].addUse(use.phase);
  return places;
}

void PassedValues::add(const LayerValue &value) {
  if (value.producer.phase == ActionKind::WeightGradient)
    return;
  std::map<size_t, ValuePlace> places = placesOf(value);
  addOwn(value, places);
  countOnce(value, places);
}

/// Moves what other stages on the devices of its producer hold of `value`.
void PassedValues::addOwn(const LayerValue &value,
                          const std::map<size_t, ValuePlace> &places) {
  int64_t stage = stageOf[size_t(value.producer.layer)];
  ActionKind phase = value.producer.phase;
  if (stage < 0)
    return;
  auto from = size_t(stage);
  RankMemory::Passed own{stage, phase, stage, phase,
                         problem.slotOf(value.bytes).value};
  bool isLate = false; // A W of another stage reads it.
  for (const auto &[to, place] : places) {
    // Forwards run in the order of the stages, backwards against it.
    bool isBefore = phase == ActionKind::Forward ? to < from : to > from;
    if (to == from || isBefore || !isOn(to, from) || !drop(value, to, place))
      continue;
    isLate |= place.weightUse;
    RankMemory::Passed last{own.from, own.fromPhase, int64_t(to),
                            place.weightUse  ? ActionKind::WeightGradient
                            : place.inputUse ? ActionKind::InputGradient
                                             : ActionKind::Forward,
                            own.bytes};
    if (own.to == own.from || last.isAfter(own))
      own = last;
  }
  if (own.to == own.from)
    return;
  if (auto kept = places.find(from);
      kept != places.end() && phase == ActionKind::Forward &&
      (kept->second.weightUse || (kept->second.inputUse && !isLate)))
    return; // Its own stage keeps it longer.
  result.passed.push_back(own);
}

/// If `value` comes from other devices, only the stage that reads it first
/// holds it, for all stages that read it on its devices.
void PassedValues::countOnce(const LayerValue &value,
                             const std::map<size_t, ValuePlace> &places) {
  int64_t stage = stageOf[size_t(value.producer.layer)];
  if (value.producer.phase != ActionKind::Forward)
    return;
  for (auto first = places.begin(); first != places.end(); ++first) {
    const ValuePlace &place = first->second;
    if (!place.forwardUse || (stage >= 0 && isOn(first->first, size_t(stage))))
      continue;
    for (auto later = std::next(first); later != places.end(); ++later)
      if (isOn(later->first, first->first) && !later->second.forwardUse &&
          (place.weightUse || (place.inputUse && !later->second.weightUse)))
        drop(value, later->first, later->second);
  }
}

void PassedValues::countOnce(const Resident &resident) {
  std::set<size_t> holders;
  for (int64_t layer : resident.layers)
    if (int64_t stage = stageOf[size_t(layer)]; stage >= 0)
      holders.insert(size_t(stage));
  int64_t bytes = problem.slotOf(resident.bytes).value;
  for (auto later = holders.begin(); later != holders.end(); ++later)
    if (std::any_of(holders.begin(), later,
                    [&](size_t first) { return isOn(*later, first); })) {
      StageMemory &memory = result.stages[*later];
      (resident.kind == ResidentKind::PerMicrobatch ? memory.perMicrobatch
                                                    : memory.once) -= bytes;
    }
}

/// Takes `value` out of the memory of a stage that gets it from another one.
/// Returns whether it was in.
bool PassedValues::drop(const LayerValue &value, size_t stage,
                        const ValuePlace &place) {
  int64_t *counter =
      stages[stage].recompute
          ? nullptr
          : counterOf(value, place, /*recompute=*/false, result.stages[stage]);
  if (counter)
    *counter -= problem.slotOf(value.bytes).value;
  return counter;
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
