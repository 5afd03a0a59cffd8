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
/// up, also if it makes no part itself. If a stage with the parameter is on
/// several ranks, all ranks sum their gradients in place instead.
static std::vector<int64_t> gradientsOf(const Problem &problem,
                                        const std::vector<StagePlan> &stages,
                                        const ReplicaRanks &ranksOf,
                                        size_t numRanks) {
  std::vector<int64_t> bytes(numRanks, 0),
      stageOf = stageOfLayers(problem, stages);
  for (const Resident &resident : problem.residents) {
    if (resident.kind != ResidentKind::Parameter || problem.forwardOnly)
      continue;
    std::set<int64_t> ranks;
    bool isSummed = false;
    for (int64_t layer : resident.layers) {
      auto stage = size_t(stageOf[size_t(layer)]);
      ranks.insert(ranksOf[stage].front());
      isSummed |= stages[stage].devices.size() > 1;
    }
    if (ranks.size() > 1 && !isSummed)
      bytes[size_t(
          ranksOf[size_t(stageOf[size_t(resident.layers.front())])].front())] +=
          int64_t(ranks.size()) * problem.slotOf(resident.bytes).value;
  }
  return bytes;
}

namespace {
/// The stages of a rank, in their order, and its device.
struct RankStages {
  std::vector<size_t> stages;
  size_t device = 0;
};
} // namespace

/// By rank. Of devices that share samples, which all run what the rank runs,
/// the one with the least memory.
static std::vector<RankStages>
stagesOfRanks(const Problem &problem, const std::vector<StagePlan> &stages,
              const ReplicaRanks &ranks) {
  std::vector<RankStages> result;
  for (size_t s = 0; s < stages.size(); ++s)
    for (size_t i = 0; i < ranks[s].size(); ++i) {
      auto rank = size_t(ranks[s][i]);
      result.resize(std::max(result.size(), rank + 1));
      result[rank].stages.push_back(s);
      result[rank].device = stages[s].rows.empty()
                                ? stages[s].devices[i]
                                : smallestDevice(problem, stages[s]);
    }
  return result;
}

/// Bytes left for rings on rank `rank`, which has the stages `here`.
static Result<double> leftOnRank(const Problem &problem,
                                 const std::vector<StagePlan> &stages,
                                 const std::vector<StageMemory> &memories,
                                 const RankStages &here, int64_t rank,
                                 int64_t gradients) {
  size_t first = here.stages.front();
  if (here.stages.size() == 1 && !stages[first].rows.empty()) // No gradients.
    return leftOfShares(problem, stages[first], memories[first], rank);
  const Device &device = problem.cluster.devices[here.device];
  RankMemory memory;
  int64_t slots = gradients; // And copies of offloaded stashes.
  for (size_t s : here.stages) {
    const StageMemory &own = memories[s];
    memory.add(own, ByLife(), problem.microbatches);
    slots += (own.leaving + slotsComing(1)) * own.offloaded;
  }
  int64_t fixed = memory.total().value + slots;
  if (fixed > device.memory.value)
    return tooLarge(rank, fixed, device);
  return double(device.memory.value - fixed);
}

/// By stage: bytes left for rings on its ranks.
static Result<std::vector<double>>
leftForRings(const Problem &problem, const std::vector<StagePlan> &stages,
             const ReplicaRanks &ranks) {
  // Those of one device have parameters in common if it holds shards.
  std::vector<StageMemory> memories = memoryOfStages(problem, stages).stages;
  for (StageMemory &memory : memories) {
    memory.received = memory.recomputed = 0;
    memory.receivedStash = {};
  }
  std::vector<double> left(stages.size(),
                           std::numeric_limits<double>::infinity());
  std::vector<RankStages> all = stagesOfRanks(problem, stages, ranks);
  std::vector<int64_t> gradients =
      gradientsOf(problem, stages, ranks, all.size());
  for (size_t r = 0; r < all.size(); ++r) {
    Result<double> own =
        leftOnRank(problem, stages, memories, all[r], int64_t(r), gradients[r]);
    if (!own)
      return own.error();
    for (size_t s : all[r].stages)
      left[s] = std::min(left[s], *own);
  }
  return left;
}

namespace {
/// How a schedule runs the actions of a stage.
struct StageForm {
  bool splits = false; ///< I and W apart.
  bool recomputes = false;
};

/// Collects the rings of values.
class RingList {
public:
  RingList(const Problem &problem, const std::vector<StagePlan> &stages,
           const Schedule &schedule);

  void add(const LayerValue &value);

  std::vector<CreditRing> rings;

private:
  void addKept(StagePhase made, const ValuePlace &place, double bytes);
  void addReceived(StagePhase made, size_t to, ValuePlace place, double bytes);
  /// The last phase of stage `stage` that reads what `place` describes.
  StagePhase lastOf(const ValuePlace &place, size_t stage) const {
    bool isLate = place.weightUse && forms[stage].splits;
    return {isLate                              ? ActionKind::WeightGradient
            : place.weightUse || place.inputUse ? ActionKind::InputGradient
                                                : ActionKind::Forward,
            int64_t(stage)};
  }

  const Problem &problem;
  const std::vector<StagePlan> &stages;
  std::vector<StageForm> forms;
  std::vector<size_t> stageOf;  ///< By layer.
  std::vector<int64_t> levelOf; ///< By layer.
};
} // namespace

RingList::RingList(const Problem &problem, const std::vector<StagePlan> &stages,
                   const Schedule &schedule)
    : problem(problem), stages(stages), forms(stages.size()),
      stageOf(problem.layers.size(), 0), levelOf(problem.layers.size(), 0) {
  for (const Order &order : schedule.ranks)
    for (const Action &action : order) {
      StageForm &form = forms[size_t(action.stage)];
      form.splits |= action.kind == ActionKind::InputGradient ||
                     action.kind == ActionKind::WeightGradient;
      form.recomputes |= action.kind == ActionKind::Recompute;
    }
  for (size_t s = 0; s < stages.size(); ++s)
    for (size_t i = 0; i < stages[s].layers.size(); ++i) {
      stageOf[size_t(stages[s].layers[i])] = s;
      levelOf[size_t(stages[s].layers[i])] = stages[s].levelOf(i);
    }
}

/// Adds a value that its own stage reads in a later action.
void RingList::addKept(StagePhase made, const ValuePlace &place, double bytes) {
  auto stage = size_t(made.stage);
  StagePhase last = lastOf(place, stage);
  if (!place.keeps(made.phase) || last.phase == made.phase)
    return;
  if (made.phase != ActionKind::Forward || !forms[stage].recomputes) {
    rings.push_back({made, last, bytes});
    return;
  }
  rings.push_back({made, last, bytes, /*recomputes=*/false});
  made.phase = ActionKind::Recompute;
  rings.push_back({made, last, bytes, /*recomputes=*/true});
}

/// Adds a value that another stage makes. A forward that runs again reads its
/// inputs again.
void RingList::addReceived(StagePhase made, size_t to, ValuePlace place,
                           double bytes) {
  StagePhase last = lastOf(place, to);
  if (last.phase != ActionKind::Forward || !forms[to].recomputes) {
    rings.push_back({made, last, bytes});
    return;
  }
  rings.push_back({made, last, bytes, /*recomputes=*/false});
  place.inputUse = true;
  rings.push_back({made, lastOf(place, to), bytes, /*recomputes=*/true});
}

void RingList::add(const LayerValue &value) {
  size_t from = stageOf[size_t(value.producer.layer)];
  StagePhase made{value.producer.phase, int64_t(from)};
  std::map<size_t, ValuePlace> places;
  for (const LayerPhase &use : value.uses)
    if (use.isAt(levelOf[size_t(use.layer)]))
      places[stageOf[size_t(use.layer)]].addUse(use.phase);
  auto bytes = double(problem.slotOf(value.bytes).value);
  const std::vector<int64_t> &offloaded = stages[from].offload;
  bool isOnHost = made.phase == ActionKind::Forward &&
                  std::binary_search(offloaded.begin(), offloaded.end(),
                                     value.producer.layer);
  for (const auto &[to, place] : places)
    if (to != from)
      addReceived(made, to, place, bytes);
    else if (!isOnHost)
      addKept(made, place, bytes);
}

Result<CreditMemory> creditMemoryOf(const Problem &problem,
                                    const std::vector<StagePlan> &stages,
                                    const ReplicaRanks &ranks,
                                    const Schedule &schedule) {
  Result<std::vector<double>> left = leftForRings(problem, stages, ranks);
  if (!left)
    return left.error();
  RingList list(problem, stages, schedule);
  for (const LayerValue &value : problem.values)
    list.add(value);
  return CreditMemory{std::move(list.rings), std::move(*left),
                      /*inBytes=*/true};
}

} // namespace stagewright
