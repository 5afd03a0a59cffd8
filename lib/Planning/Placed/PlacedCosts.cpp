//===- PlacedCosts.cpp - the scheduling problem of a plan -----------------===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Placed/PlacedCosts.h"
#include "Placed/PassedValues.h"
#include "Placed/PlacedSearch.h"
#include "stagewright/Cost/Network.h"
#include "stagewright/Planning/Evaluate.h"
#include "stagewright/Planning/Placed.h"
#include "stagewright/Scheduling/InFlight.h"
#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <set>

namespace stagewright {

std::vector<size_t> devicesOf(const std::vector<StagePlan> &stages,
                              const StagePlacement &where) {
  std::vector<size_t> devices(where.ranks);
  for (size_t s = stages.size(); s-- > 0;)
    devices[rankOf(where.placement, where.ranks, where.chunks, int64_t(s))] =
        stages[s].devices.front();
  return devices;
}

size_t smallestDevice(const Problem &problem, const StagePlan &stage) {
  return *std::min_element(stage.devices.begin(), stage.devices.end(),
                           [&](size_t a, size_t b) {
                             return problem.cluster.devices[a].memory <
                                    problem.cluster.devices[b].memory;
                           });
}

/// Share of each microbatch that each device of `stage` processes: all of it
/// unless the stage states rows.
static std::vector<double> slicesOf(const Problem &problem,
                                    const StagePlan &stage) {
  return stage.rows.empty() ? std::vector<double>(stage.devices.size(), 1.0)
                            : sharesOf(problem, stage);
}

/// F, I and W of one microbatch on the slowest of the stage's devices.
static StageTimes timesOf(const Problem &problem, const StagePlan &stage,
                          const std::vector<size_t> &classOf) {
  StageTimes slowest;
  std::vector<double> shares = slicesOf(problem, stage);
  for (size_t i = 0; i < stage.devices.size(); ++i) {
    StageTimes times;
    for (size_t n = 0; n < stage.layers.size(); ++n) {
      StageTimes one =
          timesOfLayer(problem, stage, n, classOf[stage.devices[i]]);
      times.forward += one.forward * shares[i];
      times.inputGradient += one.inputGradient * shares[i];
      times.weightGradient += one.weightGradient * shares[i];
    }
    if (slowest.total() < times.total())
      slowest = times;
  }
  return slowest;
}

namespace {
/// What one stage sends to another for a microbatch. `given`: the seconds of
/// values whose transfer time is known.
struct Load {
  int64_t bytes = 0;
  Seconds given;
};
} // namespace

namespace {
/// Loads by the two stages between which values go.
using Loads = std::map<std::pair<int64_t, int64_t>, Load>;
} // namespace

std::vector<int64_t> stageOfLayers(const Problem &problem,
                                   const std::vector<StagePlan> &stages) {
  std::vector<int64_t> stageOf(problem.layers.size(), 0);
  for (size_t s = 0; s < stages.size(); ++s)
    for (int64_t layer : stages[s].layers)
      stageOf[size_t(layer)] = int64_t(s);
  return stageOf;
}

static Loads loadsOf(const Problem &problem,
                     const std::vector<int64_t> &stageOf) {
  Loads loads;
  for (const LayerValue &value : problem.values) {
    int64_t from = stageOf[size_t(value.producer.layer)];
    std::set<int64_t> users;
    for (const LayerPhase &use : value.uses)
      users.insert(stageOf[size_t(use.layer)]);
    users.erase(from);
    for (int64_t to : users) {
      Load &load = loads[{from, to}];
      if (value.transfer)
        load.given += *value.transfer;
      else
        load.bytes += value.bytes.value;
    }
  }
  return loads;
}

/// The delay between the stages numbered `a` and `b`: the max over both
/// directions and over pairs of devices.
static Seconds hopOf(const Problem &problem, const Network &network,
                     const std::vector<StagePlan> &stages, int64_t a, int64_t b,
                     const Loads &all) {
  const StagePlan &from = stages[size_t(a)], &to = stages[size_t(b)];
  auto loadOf = [&](int64_t sends, int64_t receives) {
    auto found = all.find({sends, receives});
    return found == all.end() ? Load() : found->second;
  };
  std::pair<Load, Load> loads = {loadOf(a, b), loadOf(b, a)};
  Seconds slowest;
  if (!from.rows.empty() || !to.rows.empty()) {
    for (const Load &load : {loads.first, loads.second})
      slowest = std::max(
          slowest, transferTime(network, from.devices, slicesOf(problem, from),
                                to.devices, slicesOf(problem, to),
                                Bytes(load.bytes), load.given));
    return slowest;
  }
  size_t pairs = std::min(from.devices.size(), to.devices.size());
  for (size_t i = 0; i < pairs; ++i)
    for (const Load &load : {loads.first, loads.second})
      if (from.devices[i] != to.devices[i])
        slowest = std::max(slowest,
                           transferTime(network, from.devices[i], to.devices[i],
                                        Bytes(load.bytes), load.given));
  return slowest;
}

/// Bytes that a stage holds for a microbatch from F to I, and from I to W. The
/// latter are the values of F and I that W uses. If they are more, the first
/// number is the same as the second, since ScheduleProblem needs `kept` to be
/// at most `activation`.
static std::pair<double, double> heldOf(const StageMemory &memory) {
  auto bytes = [&](int64_t ByLife::*of) {
    return double(memory.stash.*of + memory.receivedStash.*of);
  };
  double kept = bytes(&ByLife::toWeight) + bytes(&ByLife::between);
  double activation = bytes(&ByLife::toInput) + bytes(&ByLife::toWeight);
  return {std::max(activation, kept), kept};
}

Error tooLarge(int64_t rank, int64_t bytes, const Device &device) {
  return Error{"rank " + std::to_string(rank) + " needs " +
               toString(Bytes(bytes)) + " on device " + device.name +
               " even with no microbatch in flight, has " +
               toString(device.memory) +
               "; use more devices, fewer microbatches or a device with " +
               toString(Bytes(bytes) - device.memory) + " more"};
}

Result<double> leftOfShares(const Problem &problem, const StagePlan &stage,
                            StageMemory memory, int64_t rank) {
  memory.leaving = slotsLeaving({});
  std::vector<double> shares = slicesOf(problem, stage);
  double left = std::numeric_limits<double>::infinity();
  for (size_t i = 0; i < shares.size(); ++i) {
    const Device &device = problem.cluster.devices[stage.devices[i]];
    int64_t fixed =
        memory
            .with(ByLife(), problem.microbatches, shares[i], 1, slotsAtOnce({}))
            .value +
        std::llround(shares[i] * double(memory.leaving + slotsComing(1)) *
                     double(memory.offloaded));
    if (fixed > device.memory.value)
      return tooLarge(rank, fixed, device);
    left = std::min(left, double(device.memory.value - fixed) / shares[i]);
  }
  return left;
}

/// Sets the memory limit, which is one number for all ranks: the least memory
/// left on any rank. The bytes that a stage holds are multiplied by this limit
/// divided by the memory left on its rank.
static Status scaleMemory(const Problem &problem,
                          const std::vector<StagePlan> &stages,
                          const std::vector<StageMemory> &memories,
                          const StagePlacement &where,
                          ScheduleProblem &result) {
  std::vector<double> left;
  std::vector<size_t> devices = devicesOf(stages, where);
  for (int64_t r = 0; r < where.ranks; ++r) {
    std::vector<int64_t> here =
        stagesOf(where.placement, where.ranks, where.chunks, r, where.spare);
    if (here.size() == 1 && !stages[here[0]].rows.empty()) {
      Result<double> least =
          leftOfShares(problem, stages[here[0]], memories[size_t(here[0])], r);
      if (!least)
        return least.error();
      left.push_back(*least);
      continue;
    }
    if (!here.empty() && !stages[size_t(here[0])].rows.empty())
      devices[size_t(r)] = smallestDevice(problem, stages[size_t(here[0])]);
    const Device &device = problem.cluster.devices[devices[size_t(r)]];
    // Memory that does not depend on the number of microbatches in flight: what
    // is needed with none in flight, and the slot in which the next microbatch
    // arrives.
    RankMemory memory;
    int64_t slots = 0; // For copies of offloaded stashes, also independent.
    for (int64_t s : here) {
      const StageMemory &own = memories[size_t(s)];
      memory.add(own, ByLife(), problem.microbatches);
      slots += (own.leaving + slotsComing(1)) * own.offloaded;
    }
    int64_t fixed = memory.total().value + slots;
    if (fixed > device.memory.value)
      return tooLarge(r, fixed, device);
    left.push_back(double(device.memory.value - fixed));
  }
  result.memory = *std::min_element(left.begin(), left.end());
  for (size_t s = 0; s < stages.size(); ++s) {
    double most = left[result.rankOf(int64_t(s))];
    if (where.placement == Placement::Twin)
      most = std::min(most, left[where.ranks - 1 - s]);
    if (!(most > 0))
      continue;
    StageCosts &costs = result.stages[s];
    for (double *bytes :
         {&costs.activation, &costs.kept, &costs.recomputeInput})
      *bytes *= result.memory / most;
  }
  return {};
}

StepTimes stepTimesOf(const Problem &problem, const Network &network,
                      const std::vector<StagePlan> &stages,
                      const StageGraph &graph) {
  StepTimes times;
  std::vector<size_t> classOf = problem.cluster.classOfDevices();
  for (const StagePlan &stage : stages)
    times.stages.push_back(timesOf(problem, stage, classOf));
  Loads loads = loadsOf(problem, stageOfLayers(problem, stages));
  std::map<std::pair<int64_t, int64_t>, Seconds> hops; // By pair of stages.
  for (const StageEdge &edge : graph.edges) {
    auto [a, b] = std::minmax(edge.producer.stage, edge.firstUse.stage);
    bool isLocal = stages[size_t(a)].devices == stages[size_t(b)].devices;
    auto [hop, isNew] = hops.try_emplace({a, b});
    if (isNew && !isLocal)
      hop->second = hopOf(problem, network, stages, a, b, loads);
    times.hops.push_back(hop->second);
  }
  return times;
}

/// The scheduling problem of stages that need `memories`, without a limit of
/// memory.
static ScheduleProblem costsOf(const Problem &problem, const Network &network,
                               const std::vector<StagePlan> &stages,
                               const std::vector<StageMemory> &memories,
                               const StagePlacement &where) {
  ScheduleProblem result;
  result.placement = where.placement;
  result.ranks = where.ranks;
  result.chunks = where.chunks;
  result.spare = where.spare;
  result.microbatches = problem.microbatches;
  result.forwardOnly = problem.forwardOnly;
  std::vector<size_t> classOf = problem.cluster.classOfDevices();
  Loads loads = loadsOf(problem, stageOfLayers(problem, stages));
  for (size_t s = 0; s < stages.size(); ++s) {
    StageTimes times = timesOf(problem, stages[s], classOf);
    const StageMemory &memory = memories[s];
    auto [activation, kept] = heldOf(memory);
    // Inputs of the forward; what arrives in the backward does not count.
    int64_t arrived =
        memory.receivedStash.toInput + memory.receivedStash.toWeight;
    result.stages.push_back({times.forward, times.inputGradient,
                             times.weightGradient, activation, kept,
                             double(arrived)});
    if (s + 1 < stages.size())
      result.hops.push_back(
          hopOf(problem, network, stages, int64_t(s), int64_t(s) + 1, loads));
  }
  return result;
}

static std::vector<StageMemory>
memoriesOf(const Problem &problem, const std::vector<StagePlan> &stages) {
  LayerIndex index(problem);
  std::vector<StageMemory> memories;
  for (const StagePlan &stage : stages)
    memories.push_back(stageMemory(problem, index, stage));
  return memories;
}

Result<ScheduleProblem> scheduleProblemOf(const Problem &problem,
                                          const Network &network,
                                          const std::vector<StagePlan> &stages,
                                          const StagePlacement &where) {
  std::vector<StageMemory> memories = memoriesOf(problem, stages);
  ScheduleProblem result = costsOf(problem, network, stages, memories, where);
  if (problem.model.sharesRings)
    memories = memoryOfStages(problem, stages).stages;
  if (Status status = scaleMemory(problem, stages, memories, where, result);
      !status)
    return status.error();
  if (Status status = result.check(); !status)
    return status.error();
  return result;
}

/// By rank: its stages, and the max number of microbatches each holds at once.
static std::vector<std::vector<StashPeak>> heldByRank(const Schedule &schedule,
                                                      int64_t ranks) {
  std::vector<std::vector<StashPeak>> held(ranks);
  for (const StashPeak &peak : stashPeaks(schedule))
    held[peak.rank].push_back(peak);
  return held;
}

/// The memory of the stages `held` of a rank, which share nothing yet.
static RankMemory memoryOfRank(const Problem &problem, const LayerIndex &index,
                               const std::vector<StagePlan> &stages,
                               const std::vector<StashPeak> &held,
                               const Schedule &schedule) {
  RankMemory memory(schedule.kind);
  for (const StashPeak &peak : held)
    memory.add(stageMemory(problem, index, stages[peak.stage]), heldOf(peak),
               problem.microbatches, peak.stage);
  return memory;
}

/// The lives of the stashes of the stages `held` of a rank; none for a single
/// stage, which shares no memory.
static std::vector<StashLife> livesOf(const std::vector<StashPeak> &held,
                                      const Schedule &schedule) {
  return held.size() < 2 ? std::vector<StashLife>()
                         : stashLives(schedule.ranks[held.front().rank]);
}

std::vector<Bytes> memoryOf(const Problem &problem,
                            const std::vector<StagePlan> &stages,
                            const StagePlacement &where,
                            const Schedule &schedule) {
  LayerIndex index(problem);
  std::vector<Bytes> bytes(problem.cluster.devices.size());
  std::vector<size_t> devices = devicesOf(stages, where);
  auto held = heldByRank(schedule, where.ranks);
  for (int64_t r = 0; r < where.ranks; ++r) {
    RankMemory memory = memoryOfRank(problem, index, stages, held[r], schedule);
    memory.share(livesOf(held[r], schedule), /*packer=*/nullptr);
    bytes[devices[r]] = memory.total();
  }
  return bytes;
}

void fitLevels(const Problem &problem, const LevelCurve &curve,
               const StagePlacement &where, const Schedule &schedule,
               std::vector<StagePlan> &stages, LifePacker *packer) {
  if (curve.empty() || where.placement == Placement::Twin)
    return;
  std::vector<size_t> classOf = problem.cluster.classOfDevices(),
                      devices = devicesOf(stages, where);
  auto held = heldByRank(schedule, where.ranks);
  for (int64_t r = 0; r < where.ranks; ++r) {
    std::vector<LeveledStage> here;
    std::vector<StashLife> lives = livesOf(held[r], schedule);
    for (const StashPeak &peak : held[r])
      here.push_back({&stages[peak.stage], double(peak.held),
                      double(heldOf(peak).between)});
    curve.fit(std::move(here), classOf[devices[r]], [&] {
      return memoryOfRank(problem, curve.layers(), stages, held[r], schedule)
          .fits(lives, packer, problem.cluster.devices[devices[r]].memory);
    });
  }
}

} // namespace stagewright
