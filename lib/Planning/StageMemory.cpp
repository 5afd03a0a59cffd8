//===- StageMemory.cpp - bytes that a stage holds -------------------------===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "LayerIndex.h"
#include "ValuePlace.h"
#include "stagewright/Scheduling/InFlight.h"
#include <algorithm>
#include <cmath>
#include <set>

namespace stagewright {

int64_t inFlightInTurn(ExecutionOrder order, int64_t ahead, int64_t own,
                       int64_t microbatches) {
  int64_t all = microbatches;
  switch (order) {
  case ExecutionOrder::OneFOneB:
  case ExecutionOrder::CapA:
    all = ahead;
    break;
  case ExecutionOrder::EarlyBackward:
    all = 2 * ahead - own;
    break;
  case ExecutionOrder::Window:
    all = 4 * (ahead - own) + own;
    break;
  case ExecutionOrder::Greedy:
  case ExecutionOrder::GPipe:
    break;
  }
  return (std::min(all, microbatches) + own - 1) / own;
}

int64_t inFlightOf(ExecutionOrder order, int64_t fromEnd,
                   int64_t microbatches) {
  return inFlightInTurn(order, fromEnd, 1, microbatches);
}

LayerIndex::LayerIndex(const Problem &problem)
    : values(problem.layers.size()), residents(problem.layers.size()) {
  auto note = [](std::vector<size_t> &list, size_t number) {
    if (list.empty() || list.back() != number)
      list.push_back(number);
  };
  for (size_t i = 0; i < problem.values.size(); ++i) {
    note(values[problem.values[i].producer.layer], i);
    for (const LayerPhase &use : problem.values[i].uses)
      note(values[use.layer], i);
  }
  for (size_t i = 0; i < problem.residents.size(); ++i)
    for (int64_t layer : problem.residents[i].layers)
      note(residents[layer], i);
}

namespace {
/// Sums the memory of some layers. The level of all other layers is -1.
class MemorySum {
public:
  MemorySum(const Problem &problem, std::vector<int64_t> levels, bool recompute,
            const std::vector<int64_t> &offload = {})
      : problem(problem), levels(std::move(levels)), recompute(recompute),
        offload(offload.begin(), offload.end()) {
    memory.sharesRings = problem.model.sharesRings;
  }

  void addResident(const Resident &resident) {
    bool here = std::any_of(resident.layers.begin(), resident.layers.end(),
                            [&](int64_t layer) { return isHere(layer); });
    if (!here)
      return;
    if (resident.kind == ResidentKind::PerMicrobatch)
      memory.perMicrobatch += problem.slotOf(resident.bytes).value;
    else
      memory.once += problem.slotOf(resident.bytes).value;
    // The optimizer's state is with the first layer of the parameter.
    if (resident.kind == ResidentKind::Parameter &&
        isHere(resident.layers.front()))
      memory.once += std::llround(problem.model.optimizerState *
                                  double(resident.bytes.value));
  }

  void addLayer(size_t layer) {
    memory.addTemporaries(problem, layer, levels[layer]);
  }

  void addValue(const LayerValue &value) {
    ValuePlace place;
    place.producer = isHere(value.producer.layer);
    place.offloaded = offload.contains(value.producer.layer);
    for (const LayerPhase &use : value.uses)
      if (isHere(use.layer) && use.isAt(levels[use.layer]))
        place.addUse(use.phase);
    if (int64_t *counter = counterOf(value, place, recompute, memory))
      *counter += problem.slotOf(value.bytes).value;
  }

  StageMemory memory;

private:
  bool isHere(int64_t layer) const { return levels[layer] >= 0; }

  const Problem &problem;
  std::vector<int64_t> levels;
  bool recompute;
  std::set<int64_t> offload;
};

std::vector<int64_t> levelsOf(const Problem &problem, const StagePlan &stage) {
  std::vector<int64_t> levels(problem.layers.size(), -1);
  for (size_t i = 0; i < stage.layers.size(); ++i)
    levels[stage.layers[i]] = stage.levelOf(i);
  return levels;
}
} // namespace

static StageMemory sumAll(const Problem &problem, std::vector<int64_t> levels,
                          bool recompute,
                          const std::vector<int64_t> &offload = {}) {
  std::vector<bool> isHere;
  for (int64_t level : levels)
    isHere.push_back(level >= 0);
  MemorySum sum(problem, std::move(levels), recompute, offload);
  for (const Resident &resident : problem.residents)
    sum.addResident(resident);
  for (size_t layer = 0; layer < problem.layers.size(); ++layer)
    if (isHere[layer])
      sum.addLayer(layer);
  for (const LayerValue &value : problem.values)
    sum.addValue(value);
  return sum.memory;
}

StageMemory stageMemory(const Problem &problem, const std::vector<bool> &isHere,
                        bool recompute) {
  std::vector<int64_t> levels;
  for (bool here : isHere)
    levels.push_back(here ? 0 : -1);
  return sumAll(problem, std::move(levels), recompute);
}

StageMemory stageMemory(const Problem &problem, const StagePlan &stage) {
  return sumAll(problem, levelsOf(problem, stage), stage.recompute,
                stage.offload);
}

/// Visits once each number that `lists` has for any layer of `stage`.
template <typename Visit>
static void visitOnce(const std::vector<std::vector<size_t>> &lists,
                      const StagePlan &stage, Visit visit) {
  std::vector<size_t> all;
  for (int64_t layer : stage.layers)
    all.insert(all.end(), lists[layer].begin(), lists[layer].end());
  std::sort(all.begin(), all.end());
  all.erase(std::unique(all.begin(), all.end()), all.end());
  for (size_t number : all)
    visit(number);
}

StageMemory stageMemory(const Problem &problem, const LayerIndex &index,
                        const StagePlan &stage) {
  MemorySum sum(problem, levelsOf(problem, stage), stage.recompute,
                stage.offload);
  visitOnce(index.residents, stage,
            [&](size_t i) { sum.addResident(problem.residents[i]); });
  for (int64_t layer : stage.layers)
    sum.addLayer(size_t(layer));
  visitOnce(index.values, stage,
            [&](size_t i) { sum.addValue(problem.values[i]); });
  return sum.memory;
}

Bytes StageMemory::with(ByLife inFlight, int64_t microbatches, double share,
                        int64_t routes, int64_t atOnce) const {
  // A ring of received values has one slot more than are in use, for the next
  // message, but never more slots than microbatches.
  auto part = [&](int64_t number) { return (number + routes - 1) / routes; };
  int64_t most = part(microbatches);
  auto next = [&](int64_t kept) { return std::min(kept + 1, most); };
  ByLife kept = {part(inFlight.toInput), part(inFlight.toWeight),
                 part(inFlight.between)};
  ByLife slots = {next(kept.toInput), next(kept.toWeight), next(kept.between)};
  int64_t copied =
      kept.toWeight == 0
          ? 0
          : std::min(leaving, most) + std::min(slotsComing(kept.between), most);
  // Replicas that share microbatches hold their whole inputs and results, and
  // extract their slices.
  double whole = double(microbatches) * double(perMicrobatch);
  double sliced =
      double(routes) * (stash.times(kept) + receivedStash.times(slots) +
                        double(copied) * double(offloaded) +
                        double(std::min(atOnce, most)) * double(received)) +
      double(recomputed);
  return Bytes(once + int64_t(std::min(whole + std::ceil(share * sliced +
                                                         temporariesOf(share)),
                                       0x1p62)));
}

Bytes StageMemory::onHost(ByLife inFlight, double share, int64_t routes) const {
  int64_t slots = routes * ((inFlight.toWeight + routes - 1) / routes);
  return Bytes(int64_t(
      std::min(std::ceil(share * double(slots) * double(offloaded)), 0x1p62)));
}

void StageMemory::addTemporaries(const Problem &problem, size_t layer,
                                 int64_t level) {
  const Layer &facts = problem.layers[layer];
  Bytes all = facts.temporaries, one = facts.sampleTemporaries;
  if (level > 0) {
    all = facts.levels[level - 1].temporaries;
    one = facts.levels[level - 1].sampleTemporaries;
  }
  temporaries = std::max(temporaries, all.value);
  sampleTemporaries = std::max(sampleTemporaries, one.value);
  sample = problem.samples > 1 ? 1.0 / double(problem.samples) : 1.0;
}

/// Linear between one sample and a whole microbatch. This is an upper bound if
/// temporaries are a sum or a maximum of parts that shrink with the share and
/// parts that do not.
double StageMemory::temporariesOf(double share) const {
  if (share >= 1 || sample >= 1 || sampleTemporaries == 0)
    return share * double(temporaries);
  double first = std::min(double(sampleTemporaries), double(temporaries));
  return first +
         (double(temporaries) - first) * (share - sample) / (1 - sample);
}

StageMemory memoryOfAll(const Problem &problem) {
  std::vector<bool> all(problem.layers.size(), true);
  return stageMemory(problem, all, /*recompute=*/false);
}

int64_t mostOfOneLayer(const Problem &problem) {
  LayerIndex index(problem);
  int64_t most = 0;
  for (int64_t layer = 0; layer < int64_t(problem.layers.size()); ++layer)
    most = std::max(
        most, stageMemory(problem, index, stageOf(layer, layer + 1, {})).once);
  return most;
}

Bytes mostMemory(const Problem &problem) {
  StageMemory all = memoryOfAll(problem);
  for (const LayerValue &value : problem.values) {
    all.receivedStash.toWeight += value.bytes.value;
    all.received += value.bytes.value;
  }
  return all.with(problem.microbatches, problem.microbatches, 1);
}

bool memoryMayBind(const Problem &problem) {
  Bytes most = mostMemory(problem);
  return std::any_of(
      problem.cluster.devices.begin(), problem.cluster.devices.end(),
      [&](const Device &device) { return most > device.memory; });
}

namespace {
/// The microbatches that each device of a stage keeps, and on how many routes.
struct Holding {
  ByLife inFlight;
  int64_t routes;
};
} // namespace

static Holding holdingOf(const Problem &problem, const Plan &plan, size_t stage,
                         ExecutionOrder order) {
  const StagePlan &here = plan.stages[stage];
  int64_t own = turnsOf(problem, here), ahead = 0;
  for (size_t s = stage; s < plan.stages.size(); ++s)
    ahead += turnsOf(problem, plan.stages[s]);
  int64_t inFlight = problem.forwardOnly ? 0
                                         : inFlightInTurn(order, ahead, own,
                                                          problem.microbatches);
  return {ByLife(inFlight),
          std::max<int64_t>(1, routesOf(problem, plan) / own)};
}

SharedBytes::SharedBytes(const Problem &problem, const Plan &plan, size_t stage,
                         ExecutionOrder order, StageMemory stages)
    : memory(stages), microbatches(problem.microbatches),
      atOnce(slotsAtOnce(toString(order))) {
  Holding holding = holdingOf(problem, plan, stage, order);
  inFlight = holding.inFlight;
  routes = holding.routes;
  memory.leaving = slotsLeaving(toString(order));
}

static std::vector<Bytes> bytesOf(const Problem &problem, const Plan &plan,
                                  size_t stage, ExecutionOrder order,
                                  const StageMemory &memory) {
  SharedBytes ofShare(problem, plan, stage, order, memory);
  std::vector<Bytes> bytes;
  for (double share : sharesOf(problem, plan.stages[stage]))
    bytes.push_back(ofShare.of(share));
  return bytes;
}

std::vector<Bytes> hostMemoryOf(const Problem &problem, const Plan &plan,
                                size_t stage, ExecutionOrder order) {
  const StagePlan &here = plan.stages[stage];
  std::vector<Bytes> bytes(here.devices.size());
  if (here.offload.empty())
    return bytes;
  auto [inFlight, routes] = holdingOf(problem, plan, stage, order);
  StageMemory memory = stageMemory(problem, here);
  std::vector<double> shares = sharesOf(problem, here);
  for (size_t i = 0; i < shares.size(); ++i)
    bytes[i] = memory.onHost(inFlight, shares[i], routes);
  return bytes;
}

Seconds copyingTime(const Problem &problem, const StagePlan &stage) {
  Seconds slowest;
  if (stage.offload.empty())
    return slowest;
  double bytes = double(stageMemory(problem, stage).offloaded);
  std::vector<double> shares = sharesOf(problem, stage);
  for (size_t i = 0; i < shares.size(); ++i)
    if (auto bandwidth =
            problem.cluster.devices[stage.devices[i]].hostBandwidth)
      slowest =
          std::max(slowest, Seconds(shares[i] * bytes / bandwidth->value));
  return slowest;
}

std::vector<Bytes> memoryOf(const Problem &problem, const Plan &plan,
                            size_t stage, ExecutionOrder order) {
  return bytesOf(problem, plan, stage, order,
                 stageMemory(problem, plan.stages[stage]));
}

std::vector<Bytes> memoryOf(const Problem &problem, const LayerIndex &index,
                            const Plan &plan, size_t stage,
                            ExecutionOrder order) {
  return bytesOf(problem, plan, stage, order,
                 stageMemory(problem, index, plan.stages[stage]));
}

} // namespace stagewright
