//===- CreditMemory.cpp - memory of ready-first execution -----------------===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "stagewright/Planning/CreditMemory.h"
#include "Placed/PassedValues.h"
#include "Placed/PlacedCosts.h"
#include "stagewright/Scheduling/InFlight.h"
#include <algorithm>
#include <limits>
#include <map>
#include <set>

namespace stagewright {

/// By rank: bytes of the gradients that it gets from other ranks with the same
/// parameters, and of their sum. The first rank that has a parameter adds them
/// up, also if it makes no part itself.
static std::vector<int64_t> gradientsOf(const Problem &problem,
                                        const std::vector<StagePlan> &stages,
                                        const StagePlacement &where) {
  std::vector<int64_t> bytes(size_t(where.ranks), 0),
      rankOfLayer(problem.layers.size(), 0);
  for (size_t s = 0; s < stages.size(); ++s)
    for (int64_t layer : stages[s].layers)
      rankOfLayer[size_t(layer)] =
          rankOf(where.placement, where.ranks, where.chunks, int64_t(s));
  for (const Resident &resident : problem.residents) {
    if (resident.kind != ResidentKind::Parameter || problem.forwardOnly)
      continue;
    std::set<int64_t> ranks;
    for (int64_t layer : resident.layers)
      ranks.insert(rankOfLayer[size_t(layer)]);
    if (ranks.size() > 1)
      bytes[size_t(rankOfLayer[size_t(resident.layers.front())])] +=
          int64_t(ranks.size()) * problem.slotOf(resident.bytes).value;
  }
  return bytes;
}

/// By stage: bytes left for rings on its ranks.
static Result<std::vector<double>>
leftForRings(const Problem &problem, const std::vector<StagePlan> &stages,
             const std::vector<StageMemory> &memories,
             const StagePlacement &where) {
  std::vector<double> left(stages.size(),
                           std::numeric_limits<double>::infinity());
  std::vector<size_t> devices = devicesOf(stages, where);
  std::vector<int64_t> gradients = gradientsOf(problem, stages, where);
  for (int64_t r = 0; r < where.ranks; ++r) {
    std::vector<int64_t> here =
        stagesOf(where.placement, where.ranks, where.chunks, r, where.spare);
    const Device &device = problem.cluster.devices[devices[size_t(r)]];
    RankMemory memory;
    int64_t slots = gradients[size_t(r)]; // And copies of offloaded stashes.
    for (int64_t s : here) {
      StageMemory own = memories[size_t(s)];
      own.received = 0;
      own.receivedStash = {};
      memory.add(own, ByLife(), problem.microbatches);
      slots += (own.leaving + slotsComing(1)) * own.offloaded;
    }
    int64_t fixed = memory.total().value + slots;
    if (fixed > device.memory.value)
      return tooLarge(r, fixed, device);
    for (int64_t s : here)
      left[size_t(s)] =
          std::min(left[size_t(s)], double(device.memory.value - fixed));
  }
  return left;
}

/// The last phase of a stage that reads what `place` describes.
static ActionKind lastOf(const ValuePlace &place) {
  return place.weightUse  ? ActionKind::WeightGradient
         : place.inputUse ? ActionKind::InputGradient
                          : ActionKind::Forward;
}

Result<CreditMemory> creditMemoryOf(const Problem &problem,
                                    const std::vector<StagePlan> &stages,
                                    const StagePlacement &where) {
  // Those of one device have parameters in common if it holds shards.
  std::vector<StageMemory> memories = memoryOfStages(problem, stages).stages;
  Result<std::vector<double>> left =
      leftForRings(problem, stages, memories, where);
  if (!left)
    return left.error();
  CreditMemory result;
  result.limit = *std::min_element(left->begin(), left->end());
  // Replicas have an equal share of the microbatches in flight.
  std::vector<double> scales;
  for (size_t s = 0; s < stages.size(); ++s)
    scales.push_back((*left)[s] > 0 ? result.limit / (*left)[s] /
                                          double(stages[s].devices.size())
                                    : 1);
  for (size_t s = 0; s < stages.size(); ++s)
    result.held.push_back(scales[s] * double(memories[s].stash.all()));
  std::vector<size_t> stageOf(problem.layers.size(), 0);
  std::vector<int64_t> levelOf(problem.layers.size(), 0);
  for (size_t s = 0; s < stages.size(); ++s)
    for (size_t i = 0; i < stages[s].layers.size(); ++i) {
      stageOf[size_t(stages[s].layers[i])] = s;
      levelOf[size_t(stages[s].layers[i])] = stages[s].levelOf(i);
    }
  for (const LayerValue &value : problem.values) {
    StagePhase made{value.producer.phase,
                    int64_t(stageOf[size_t(value.producer.layer)])};
    std::map<size_t, ValuePlace> places;
    for (const LayerPhase &use : value.uses)
      if (use.isAt(levelOf[size_t(use.layer)]))
        places[stageOf[size_t(use.layer)]].addUse(use.phase);
    for (auto [to, place] : places) {
      if (int64_t(to) == made.stage)
        continue;
      // A stage that recomputes keeps its inputs.
      place.inputUse |= stages[to].recompute && place.forwardUse;
      result.rings.push_back(
          {made,
           {lastOf(place), int64_t(to)},
           scales[to] * double(problem.slotOf(value.bytes).value)});
    }
  }
  return result;
}

} // namespace stagewright
