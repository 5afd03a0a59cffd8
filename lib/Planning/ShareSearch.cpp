//===- ShareSearch.cpp - shares of replicas by real arenas ----------------===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "stagewright/Planning/ShareSearch.h"
#include <algorithm>
#include <numeric>

namespace stagewright {

/// Max plans that are lowered, and max shares that are considered.
static constexpr int64_t kMostTrials = 64;
static constexpr size_t kMostShares = 20000;

/// Max fraction of an arena that may depend on the shares of other stages.
static constexpr double kByOthers = 0.1;

ShareSearch::ShareSearch(const Problem &problem, const Plan &plan,
                         std::vector<bool> isStated, Lower lower)
    : problem(problem), plan(plan), isStated(std::move(isStated)),
      lower(std::move(lower)), linked(plan.stages.size()),
      seconds(plan.stages.size()) {
  std::vector<size_t> stageOf(problem.layers.size()),
      classOf = problem.cluster.classOfDevices();
  for (size_t s = 0; s < plan.stages.size(); ++s) {
    const StagePlan &stage = plan.stages[s];
    for (int64_t layer : stage.layers)
      stageOf[size_t(layer)] = s;
    for (size_t device : stage.devices) {
      double &sum = seconds[s].emplace_back(0);
      for (size_t i = 0; i < stage.layers.size(); ++i)
        sum += timesOfLayer(problem, stage, i, classOf[device]).total().value;
    }
  }
  for (const LayerValue &value : problem.values)
    for (const LayerPhase &use : value.uses) {
      size_t from = stageOf[size_t(value.producer.layer)],
             to = stageOf[size_t(use.layer)];
      if (from == to)
        continue;
      if (!plan.stages[from].rows.empty())
        linked[to].insert(from);
      if (!plan.stages[to].rows.empty())
        linked[from].insert(to);
    }
}

int64_t ShareSearch::memoryOf(const Rank &rank) const {
  size_t device = plan.stages[rank.stage].devices[rank.replica];
  return problem.cluster.devices[device].memory.value;
}

int64_t ShareSearch::samplesOf(const Shares &shares, const Rank &rank) const {
  const std::vector<int64_t> &own = shares[rank.stage];
  return own.empty() ? 0 : own[rank.replica];
}

/// What the arena of `rank` depends on.
ShareSearch::Key ShareSearch::keyOf(const Shares &shares,
                                    const Rank &rank) const {
  Key key = {int64_t(rank.stage), int64_t(rank.replica),
             samplesOf(shares, rank)};
  for (size_t other : linked[rank.stage]) {
    const std::vector<int64_t> &own = shares[rank.stage];
    if (!own.empty())
      key.push_back(std::accumulate(
          own.begin(), own.begin() + int64_t(rank.replica), int64_t(0)));
    key.insert(key.end(), shares[other].begin(), shares[other].end());
  }
  return key;
}

/// The arena of `rank`, linearly interpolated in the samples from arenas that
/// were seen with other shares; 0 if there are none.
double ShareSearch::estimateOf(const Rank &rank, int64_t samples) const {
  auto found = least.find({rank.stage, rank.replica});
  if (found == least.end())
    return 0;
  const std::map<int64_t, int64_t> &known = found->second;
  auto above = known.lower_bound(samples);
  if (above != known.end() && above->first == samples)
    return double(above->second);
  if (known.size() == 1)
    return double(known.begin()->second);
  if (above == known.end())
    --above;
  else if (above == known.begin())
    ++above;
  auto below = std::prev(above);
  double slope = double(above->second - below->second) /
                 double(above->first - below->first);
  return double(below->second) + slope * double(samples - below->first);
}

ShareSearch::Fit ShareSearch::fitOf(const Shares &shares) const {
  Fit fit;
  for (size_t s = 0; s < plan.stages.size(); ++s)
    for (size_t i = 0; i < plan.stages[s].devices.size(); ++i) {
      Rank rank = {s, i};
      int64_t samples = samplesOf(shares, rank), memory = memoryOf(rank);
      auto found = arenas.find(keyOf(shares, rank));
      bool isKnown = found != arenas.end(), lacks = false;
      if (isKnown) {
        lacks = found->second > memory;
      } else if (auto own = least.find({s, i}); own != least.end()) {
        // It did not fit with as many or fewer samples.
        double most = double(memory) * (linked[s].empty() ? 1 : 1 + kByOthers);
        for (auto [count, arena] : own->second)
          lacks |= count <= samples && double(arena) > most;
      }
      double arena =
          isKnown ? double(found->second) : estimateOf(rank, samples);
      fit.over += std::max(0.0, arena - double(memory));
      fit.isKnown &= isKnown;
      if (lacks)
        fit.lacking.push_back(rank);
    }
  return fit;
}

/// A number in proportion to the seconds of the slowest replica.
double ShareSearch::secondsOf(const Shares &shares) const {
  double slowest = 0;
  for (size_t s = 0; s < shares.size(); ++s)
    for (size_t i = 0; i < shares[s].size(); ++i)
      slowest = std::max(slowest, seconds[s][i] * double(shares[s][i]));
  return slowest;
}

void ShareSearch::note(const Shares &shares, const Arenas &found) {
  int64_t most = 0;
  Rank fullest = {};
  for (size_t s = 0; s < found.size(); ++s)
    for (size_t i = 0; i < found[s].size(); ++i) {
      Rank rank = {s, i};
      int64_t arena = found[s][i], samples = samplesOf(shares, rank);
      arenas[keyOf(shares, rank)] = arena;
      auto [known, isNew] = least[{s, i}].try_emplace(samples, arena);
      known->second = std::min(known->second, arena);
      if (arena - memoryOf(rank) > most) {
        most = arena - memoryOf(rank);
        fullest = rank;
      }
    }
  if (most > 0 &&
      (closestArena < 0 || most < closestArena - memoryOf(closest))) {
    closest = fullest;
    closestArena = found[fullest.stage][fullest.replica];
  }
}

void ShareSearch::add(Shares shares) {
  if (seen.size() < kMostShares && seen.insert(shares).second)
    open.emplace(fitOf(shares).over, secondsOf(shares), std::move(shares));
}

/// Adds shares with one sample moved to another replica of `stage`, from
/// `giver` or from any.
void ShareSearch::addMoves(const Shares &shares, size_t stage,
                           std::optional<size_t> giver) {
  if (isStated[stage])
    return;
  for (size_t from = 0; from < shares[stage].size(); ++from)
    for (size_t to = 0; to < shares[stage].size(); ++to) {
      if (from == to || (giver && *giver != from) || shares[stage][from] < 2)
        continue;
      Shares moved = shares;
      --moved[stage][from];
      ++moved[stage][to];
      add(std::move(moved));
    }
}

void ShareSearch::addNext(const Shares &shares, const Fit &fit) {
  for (const Rank &rank : fit.lacking) {
    addMoves(shares, rank.stage, rank.replica);
    double over = estimateOf(rank, samplesOf(shares, rank)) /
                  double(std::max<int64_t>(1, memoryOf(rank)));
    if (linked[rank.stage].empty() || over > 1 + kByOthers)
      continue;
    addMoves(shares, rank.stage, std::nullopt);
    for (size_t other : linked[rank.stage])
      addMoves(shares, other, std::nullopt);
  }
}

std::optional<Shares> ShareSearch::run() {
  Shares first;
  for (const StagePlan &stage : plan.stages)
    first.push_back(stage.rows);
  add(std::move(first));
  for (int64_t trials = 0; !open.empty();) {
    Shares shares = std::get<2>(open.extract(open.begin()).value());
    Fit fit = fitOf(shares);
    if (fit.lacking.empty() && !fit.isKnown) {
      if (trials++ == kMostTrials)
        return std::nullopt;
      std::optional<Arenas> found = lower(shares);
      if (!found) {
        dropsSome = true;
        continue;
      }
      note(shares, *found);
      fit = fitOf(shares);
    }
    if (fit.lacking.empty())
      return shares;
    addNext(shares, fit);
  }
  isComplete = !dropsSome && seen.size() < kMostShares;
  return std::nullopt;
}

std::string ShareSearch::error() const {
  const Device &device =
      problem.cluster
          .devices[plan.stages[closest.stage].devices[closest.replica]];
  Bytes arena(closestArena);
  return "stage " + std::to_string(closest.stage) + " needs " +
         toString(arena) + " on device " + device.name + ", has " +
         toString(device.memory) +
         (isComplete && !isStated[closest.stage]
              ? "; other shares of its replicas need more"
              : "") +
         "; use more stages, fewer microbatches or a device with " +
         toString(arena - device.memory) + " more";
}

} // namespace stagewright
