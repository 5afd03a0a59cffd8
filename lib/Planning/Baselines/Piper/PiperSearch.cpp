//===- PiperSearch.cpp - Piper's dynamic program --------------------------===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Piper/PiperSearch.h"
#include "stagewright/Support/Infinity.h"
#include <algorithm>

namespace stagewright {

/// Tolerance for sums that were added in different orders.
static constexpr double kSlack = 1 + 1e-12;

PiperSearch::PiperSearch(const PiperModel &model,
                         const std::vector<LayerSet> &downsets,
                         PiperLimits limits, Objective objective, double cutoff)
    : model(model), downsets(downsets), limits(limits), objective(objective),
      cutoff(cutoff),
      mostReplicas(std::min(model.microbatches, limits.devices)) {
  size_t levels = limits.stages > 0 ? limits.stages + 1 : 1;
  falls.assign(levels,
               std::vector<std::vector<Falls>>(
                   downsets.size(), std::vector<Falls>(limits.devices + 1)));
  // Nothing left to place.
  falls[0].back().assign(limits.devices + 1, {{0, 0.0}});
  for (size_t from = downsets.size() - 1; from-- > 0;)
    solve(from);
}

template <typename Visit>
void PiperSearch::forEachStage(size_t from, Visit visit) const {
  const LayerSet &below = downsets[from];
  for (size_t to = from + 1; to < downsets.size(); ++to) {
    const LayerSet &above = downsets[to];
    LayerSet isHere(above.size(), false);
    std::vector<int64_t> layers;
    bool isAbove = true;
    for (size_t l = 0; l < above.size() && isAbove; ++l) {
      isAbove = above[l] || !below[l];
      if (above[l] && !below[l]) {
        isHere[l] = true;
        layers.push_back(int64_t(l));
      }
    }
    if (!isAbove || layers.empty())
      continue;
    for (int64_t ways : model.ways())
      for (int64_t d = 1; d * ways <= limits.devices && d <= limits.replicas &&
                          d <= mostReplicas;
           ++d) {
        if (model.microbatches % d != 0)
          continue;
        PiperStage stage(model, layers, isHere, ways, d);
        if (!stage.isPossible())
          break;
        if (visit(to, layers, stage, ways, d))
          return;
      }
  }
}

std::vector<double> PiperSearch::costOf(const PiperStage &stage,
                                        int64_t d) const {
  int64_t most = (mostReplicas + d - 1) / d;
  if (objective == Objective::Bytes)
    return stage.bytesUpTo(most);
  if (stage.fastest() > cutoff * kSlack)
    return std::vector<double>(most + 1, kInfinity);
  return stage.secondsUpTo(most);
}

void PiperSearch::solve(size_t from) {
  size_t levels = falls.size();
  std::vector<Grid> grids(
      levels, Grid((limits.devices + 1) * (mostReplicas + 1), kInfinity));
  forEachStage(from, [&](size_t to, const std::vector<int64_t> &,
                         const PiperStage &stage, int64_t ways, int64_t d) {
    std::vector<double> cost = costOf(stage, d);
    if (cost[1] == kInfinity)
      return false;
    if (levels == 1)
      extend(falls[0][to], cost, ways, d, grids[0]);
    for (size_t level = 1; level < levels; ++level)
      extend(falls[level - 1][to], cost, ways, d, grids[level]);
    return false;
  });
  for (size_t level = 0; level < levels; ++level)
    falls[level][from] = compress(grids[level]);
}

void PiperSearch::extend(const std::vector<Falls> &rest,
                         const std::vector<double> &cost, int64_t ways,
                         int64_t d, Grid &grid) const {
  const Falls *last = nullptr;
  for (int64_t k = 0; k + d * ways <= limits.devices; ++k) {
    // If the rest is the same with fewer devices, skip k: compress() copies the
    // result for fewer devices.
    if (rest[k].empty() ||
        (last && last->size() == rest[k].size() &&
         std::equal(last->begin(), last->end(), rest[k].begin(),
                    [](const Fall &a, const Fall &b) {
                      return a.replicas == b.replicas && a.value == b.value;
                    })))
      continue;
    last = &rest[k];
    double *row = &grid[(k + d * ways) * (mostReplicas + 1)];
    for (const Fall &fall : rest[k]) {
      int64_t s = fall.replicas + d;
      if (s > mostReplicas)
        break;
      double here = cost[(s + d - 1) / d];
      row[s] = std::min(row[s], std::max(here, fall.value));
      // For all later falls this stage is the slowest: with more replicas after
      // it, it holds more samples.
      if (here >= fall.value)
        break;
    }
  }
}

std::vector<PiperSearch::Falls> PiperSearch::compress(Grid &grid) const {
  std::vector<Falls> result(limits.devices + 1);
  int64_t width = mostReplicas + 1;
  for (int64_t k = 0; k <= limits.devices; ++k)
    for (int64_t s = 0; s < width; ++s) {
      double &value = grid[k * width + s];
      if (k > 0)
        value = std::min(value, grid[(k - 1) * width + s]);
      Falls &falls = result[k];
      if (value <= cutoff * kSlack &&
          value < (falls.empty() ? kInfinity : falls.back().value))
        falls.push_back({s, value});
    }
  return result;
}

PiperSearch::Fall PiperSearch::fallAt(size_t level, size_t downset,
                                      int64_t devices, int64_t replicas) const {
  Fall found = {replicas, kInfinity};
  for (const Fall &fall : falls[level][downset][devices])
    if (fall.replicas <= replicas)
      found = fall;
  return found;
}

double PiperSearch::best() const {
  return fallAt(falls.size() - 1, 0, limits.devices, mostReplicas).value;
}

PiperPick PiperSearch::step(size_t &level, size_t &downset, int64_t &devices,
                            int64_t &replicas) const {
  Fall here = fallAt(level, downset, devices, replicas);
  double value = here.value * kSlack;
  replicas = here.replicas;
  size_t nextLevel = falls.size() == 1 ? 0 : level - 1;
  PiperPick pick;
  forEachStage(downset, [&](size_t to, const std::vector<int64_t> &layers,
                            const PiperStage &stage, int64_t ways, int64_t d) {
    if (d * ways > devices || d > replicas ||
        fallAt(nextLevel, to, devices - d * ways, replicas - d).value > value)
      return false;
    int64_t inFlight = (replicas + d - 1) / d;
    if (costOf(stage, d)[inFlight] > value)
      return false;
    pick = {layers, ways, d, inFlight};
    downset = to;
    devices -= d * ways;
    replicas -= d;
    level = nextLevel;
    return true;
  });
  return pick;
}

std::vector<PiperPick> PiperSearch::stages() const {
  size_t level = falls.size() - 1, downset = 0;
  int64_t devices = limits.devices, replicas = mostReplicas;
  while (devices > 0 &&
         fallAt(level, 0, devices - 1, replicas).value <= best() * kSlack)
    --devices;
  std::vector<PiperPick> stages;
  while (downset + 1 < downsets.size()) {
    PiperPick pick = step(level, downset, devices, replicas);
    if (pick.layers.empty())
      break;
    stages.push_back(std::move(pick));
  }
  return stages;
}

} // namespace stagewright
