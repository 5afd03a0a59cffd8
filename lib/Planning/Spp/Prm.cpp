//===- Prm.cpp - partition, replication and mapping -----------------------===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Spp/Prm.h"
#include "Spp/PrmLoads.h"
#include "stagewright/Support/Infinity.h"
#include <algorithm>
#include <cmath>

namespace stagewright {

namespace {
/// The dynamic program over one list of devices.
class Solver {
public:
  Solver(const Problem &problem, const ChainCosts &costs,
         const PrmBlocks &blocks, const PrmOptions &options);

  void solve();
  /// The first block of the best plan of `stages` stages (of any number unless
  /// byStages()), and its value.
  std::pair<size_t, double> best(int64_t stages) const;
  PrmPlan planFrom(size_t block, int64_t stages);

private:
  size_t numStages(size_t block) const {
    const PrmBlock &b = blocks.blocks[block];
    return byStages() ? std::min<size_t>(options.byStages, b.used - b.width + 1)
                      : 1;
  }
  bool byStages() const { return options.byStages > 0; }
  bool isCapped() const { return !std::isinf(options.cap); }
  const double *row(size_t block, int64_t stages) const {
    size_t s = byStages() ? stages - 1 : 0;
    return values.data() + offsets[block] + s * (layers + 1);
  }
  double channelLoad(size_t cut, const PrmPair &pair) const {
    return loadBytes[cut] * pair.perByte + loadTimes[cut] * pair.latency;
  }
  double channelFill(size_t cut, const PrmPair &pair) const {
    return fillBytes[cut] * pair.perByte + fillTimes[cut] * pair.latency;
  }
  void sumCuts();
  void follow(size_t block, int64_t stages);
  void followAny(size_t block, int64_t stages);
  void followCounting(const PrmBlock &block);
  void slide(double *result, int64_t stages, int32_t *counts);
  double joined(double load, double rest) const;
  PrmStage firstStage(size_t block, size_t first, int64_t stages, size_t &next);

  const ChainCosts &costs;
  const PrmBlocks &blocks;
  const PrmOptions &options;
  PrmLoads loads;
  size_t layers;
  std::vector<double> loadBytes, loadTimes, fillBytes, fillTimes; ///< By cut.
  /// By block, number of stages (only one entry unless byStages()) and layer.
  std::vector<double> values;
  std::vector<size_t> offsets;
  /// Number of stages of the best suffix, if needed to decide what fits in
  /// memory.
  std::vector<int32_t> counts;
  // For the current block, by cut: value and stages of the best continuation.
  std::vector<double> onward;
  std::vector<int32_t> onwardCounts;
  std::vector<size_t> window;
};
} // namespace

Solver::Solver(const Problem &problem, const ChainCosts &costs,
               const PrmBlocks &blocks, const PrmOptions &options)
    : costs(costs), blocks(blocks), options(options),
      loads(problem, costs, blocks, options), layers(costs.layers),
      onward(layers + 1), onwardCounts(layers + 1, 0), window(layers + 1) {
  sumCuts();
  size_t size = 0;
  for (size_t b = 0; b < blocks.blocks.size(); ++b) {
    offsets.push_back(size);
    size += numStages(b) * (layers + 1);
  }
  values.assign(size, kInfinity);
  if (options.memory && !byStages())
    counts.assign(size, 0);
}

void Solver::sumCuts() {
  for (const CutTraffic &cut : costs.cuts) {
    double forwards = cut.hasForward, backwards = cut.hasBackward;
    double bytes = cut.forwardBytes + cut.backwardBytes;
    double times = forwards + backwards;
    if (!costs.halfDuplex) {
      bytes = std::max(cut.forwardBytes, cut.backwardBytes);
      times = std::max(forwards, backwards);
    }
    loadBytes.push_back(costs.microbatches * bytes);
    loadTimes.push_back(costs.microbatches * times);
    double fillF = options.fillForward ? options.fillWeight : 0;
    double fillB = options.fillBackward ? options.fillWeight : 0;
    fillBytes.push_back(fillF * cut.forwardBytes + fillB * cut.backwardBytes);
    fillTimes.push_back(fillF * forwards + fillB * backwards);
  }
}

/// Computes the best continuation after each cut, over all next blocks. It does
/// not depend on where the stage of this block begins.
void Solver::follow(size_t number, int64_t stages) {
  followAny(number, stages);
  for (size_t cut = 0; options.rules && cut < layers; ++cut)
    if (!options.mayCut(cut))
      onward[cut] = kInfinity;
}

/// The same, including cuts that are not allowed.
void Solver::followAny(size_t number, int64_t stages) {
  const PrmBlock &block = blocks.blocks[number];
  std::fill(onward.begin(), onward.end(), kInfinity);
  if (!byStages() || stages == 1)
    onward[layers] = 0;
  if (byStages() && stages == 1)
    return;
  if (!counts.empty())
    return followCounting(block);
  size_t end =
      byStages() ? layers - std::min<size_t>(stages - 2, layers) : layers;
  double *__restrict best = onward.data();
  const double *bytes = loadBytes.data(), *times = loadTimes.data();
  const double *moreBytes = fillBytes.data(), *moreTimes = fillTimes.data();
  bool hasFill = options.fillForward || options.fillBackward;
  double cap = options.cap;
  for (size_t next = block.nextBegin; next < block.nextEnd; ++next) {
    if (byStages() && size_t(stages - 1) > numStages(next))
      continue;
    const double *rest = row(next, stages - 1);
    const PrmPair pair = blocks.pairs[block.pairBegin + next - block.nextBegin];
    double perByte = pair.perByte, latency = pair.latency;
    if (isCapped()) {
      for (size_t l = 1; l < end; ++l) {
        double load = bytes[l] * perByte + times[l] * latency;
        double way = rest[l] + moreBytes[l] * perByte + moreTimes[l] * latency;
        best[l] = std::min(best[l], load > cap ? kInfinity : way);
      }
    } else if (hasFill) {
      for (size_t l = 1; l < end; ++l) {
        double load = bytes[l] * perByte + times[l] * latency;
        double way = rest[l] + moreBytes[l] * perByte + moreTimes[l] * latency;
        best[l] = std::min(best[l], std::max(load, way));
      }
    } else {
      for (size_t l = 1; l < end; ++l) {
        double load = bytes[l] * perByte + times[l] * latency;
        best[l] = std::min(best[l], std::max(load, rest[l]));
      }
    }
  }
}

/// The same, also recording the number of stages of the best continuation.
void Solver::followCounting(const PrmBlock &block) {
  for (size_t next = block.nextBegin; next < block.nextEnd; ++next) {
    const double *rest = row(next, 0);
    const int32_t *stages = counts.data() + offsets[next];
    const PrmPair &pair =
        blocks.pairs[block.pairBegin + next - block.nextBegin];
    for (size_t l = 1; l < layers; ++l) {
      double load = channelLoad(l, pair);
      double way = rest[l] + channelFill(l, pair);
      double both = load > options.cap ? kInfinity : joined(load, way);
      if (both < onward[l]) {
        onward[l] = both;
        onwardCounts[l] = stages[l];
      }
    }
  }
  onwardCounts[layers] = 0;
}

/// With a cap the value is the fill alone.
double Solver::joined(double load, double rest) const {
  return isCapped() ? rest : std::max(load, rest);
}

/// Goes from the last layer to the first. A window keeps the ends that may be
/// best for a stage that begins at l, nearest first; each has a smaller rest()
/// than all nearer ones. Loads grow as l falls, so a far end that is no better
/// than the next nearer one can be dropped for good.
void Solver::slide(double *result, int64_t stages, int32_t *resultCounts) {
  size_t begin = layers + 1,
         end = layers + 1; // Range of `window`, which grows downwards.
  auto rest = [&](size_t l2) { return onward[l2] + loads.fill(l2); };
  auto load = [&](size_t l, size_t l2) {
    return loads.load(l, l2, byStages() ? stages : onwardCounts[l2] + 1);
  };
  for (size_t l = layers; l-- > 0;) {
    if (!std::isinf(onward[l + 1])) {
      double nearest = rest(l + 1);
      while (begin < end && rest(window[begin]) >= nearest)
        ++begin;
      window[--begin] = l + 1;
    }
    result[l] = kInfinity;
    if (!options.mayCut(l))
      continue; // No stage may begin here.
    if (isCapped()) {
      while (begin < end && load(l, window[end - 1]) > options.cap)
        --end;
      if (begin < end)
        result[l] = rest(window[end - 1]) - loads.fill(l);
    } else if (begin < end) {
      auto value = [&](size_t l2) {
        return std::max(load(l, l2) + loads.fill(l), rest(l2));
      };
      double far = value(window[end - 1]);
      for (double near = 0; end - begin >= 2; far = near, --end)
        if ((near = value(window[end - 2])) > far)
          break;
      result[l] = far - loads.fill(l);
    }
    if (resultCounts && begin < end)
      resultCounts[l] = onwardCounts[window[end - 1]] + 1;
  }
}

void Solver::solve() {
  for (size_t b = 0; b < blocks.blocks.size(); ++b) {
    loads.select(blocks.blocks[b]);
    for (size_t s = 1; s <= numStages(b); ++s) {
      follow(b, s);
      slide(values.data() + offsets[b] + (s - 1) * (layers + 1), s,
            counts.empty() ? nullptr : counts.data() + offsets[b]);
    }
  }
}

std::pair<size_t, double> Solver::best(int64_t stages) const {
  std::pair<size_t, double> best(0, kInfinity);
  for (size_t b = 0; b < blocks.blocks.size(); ++b) {
    if (byStages() && size_t(stages) > numStages(b))
      continue;
    // Of equal values, prefer a plan without idle devices.
    double value = *row(b, stages);
    if (value < best.second ||
        (value == best.second && !std::isinf(value) &&
         blocks.blocks[b].used == blocks.devices &&
         blocks.blocks[best.first].used < blocks.devices))
      best = {b, value};
  }
  return best;
}

/// The first stage of a best plan for the layers from `first` on, by the
/// recurrence. Sets `next` to the block of the stage after it.
PrmStage Solver::firstStage(size_t number, size_t first, int64_t stages,
                            size_t &next) {
  const PrmBlock &block = blocks.blocks[number];
  loads.select(block);
  PrmStage stage{int64_t(first), int64_t(layers), number};
  double best = kInfinity;
  bool last = !byStages() || stages == 1, onlyLast = byStages() && stages == 1;
  for (size_t l2 = onlyLast ? layers : first + 1; l2 <= layers; ++l2) {
    if (!options.mayCut(l2))
      continue;
    double fill = loads.fill(l2) - loads.fill(first);
    if (!options.memory) {
      double load = loads.load(first, l2, 1);
      if (load > options.cap || (!isCapped() && load >= best))
        break;
    }
    auto consider = [&](double onward, size_t block, int64_t fromEnd) {
      double load = loads.load(first, l2, fromEnd);
      double value = joined(load, fill + onward);
      if (load > options.cap || !(value < best))
        return;
      best = value;
      next = block;
      stage.end = int64_t(l2);
      stage.recompute = loads.recomputes(first, l2, fromEnd);
    };
    if (l2 == layers) {
      if (last)
        consider(0, number, 1);
      break;
    }
    for (size_t n = block.nextBegin; n < block.nextEnd; ++n) {
      if (byStages() && size_t(stages - 1) > numStages(n))
        continue;
      const PrmPair &pair = blocks.pairs[block.pairBegin + n - block.nextBegin];
      double load = channelLoad(l2, pair);
      if (load > options.cap)
        continue;
      double way = row(n, stages - 1)[l2] + channelFill(l2, pair);
      int64_t fromEnd =
          byStages() ? stages
                     : (counts.empty() ? 0 : counts[offsets[n] + l2]) + 1;
      consider(joined(load, way), n, fromEnd);
    }
  }
  return stage;
}

PrmPlan Solver::planFrom(size_t block, int64_t stages) {
  PrmPlan plan;
  plan.value = *row(block, stages);
  for (size_t first = 0; first < layers; --stages) {
    size_t next = block;
    plan.stages.push_back(firstStage(block, first, stages, next));
    first = size_t(plan.stages.back().end);
    if (first < layers && next == block) // None found, due to rounding.
      return PrmPlan();
    block = next;
  }
  return plan;
}

std::vector<PrmPlan> partitionReplicateMap(const Problem &problem,
                                           const ChainCosts &costs,
                                           const PrmBlocks &blocks,
                                           const PrmOptions &options) {
  Solver solver(problem, costs, blocks, options);
  solver.solve();
  std::vector<PrmPlan> plans;
  for (int64_t s = 1; s <= std::max<int64_t>(1, options.byStages); ++s) {
    auto [block, value] = solver.best(s);
    plans.push_back(std::isinf(value) ? PrmPlan() : solver.planFrom(block, s));
  }
  return plans;
}

double leastValue(const Problem &problem, const ChainCosts &costs,
                  const PrmBlocks &blocks, const PrmOptions &options) {
  Solver solver(problem, costs, blocks, options);
  solver.solve();
  return solver.best(1).second;
}

} // namespace stagewright
