//===- PipeDreamSolve.cpp - PipeDream's dynamic program -------------------===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "stagewright/Planning/PipeDream.h"
#include "stagewright/Support/Infinity.h"
#include <algorithm>
#include <cmath>

namespace stagewright {

namespace {
/// The best stages for a range of states on a number of workers. If `cut` is
/// -1, one stage has the whole range.
struct Cell {
  double value = kInfinity;
  int32_t cut = -1; ///< Last state before the last stage.
  int32_t last = 0; ///< Workers of the last stage.
  int32_t used = 0; ///< Workers of all stages; fewer than allowed if idle.
  int32_t stages = 1;

  bool isBetterThan(const Cell &other) const {
    return value != other.value ? value < other.value : stages < other.stages;
  }
};

/// [first][end]: seconds of states [first, end) on one component of a level.
using Compute = std::vector<std::vector<double>>;

/// The dynamic program of one level.
class Level {
public:
  Level(const std::vector<PipeDreamState> &states, const Compute &compute,
        const PipeDreamLevel &level, int64_t widthBelow, bool top,
        const PipeDreamOptions &options)
      : states(states), compute(compute), level(level), widthBelow(widthBelow),
        options(options), count(states.size()) {
    size_t starts = top ? 1 : count;
    cells.assign(starts, {});
    for (size_t first = 0; first < starts; ++first)
      solve(first);
  }

  /// The bottleneck of states [first, end) on all workers, in seconds.
  double value(size_t first, size_t end) const {
    return at(first, end - 1, level.width).value;
  }
  std::vector<PipeDreamStage> stages(size_t first, size_t end) const;

private:
  void solve(size_t first);
  void improve(size_t first, size_t end, int64_t workers);
  double parameters(size_t first, size_t end) const {
    return states[end - 1].parameterBytes -
           (first ? states[first - 1].parameterBytes : 0);
  }
  bool fits(size_t first, size_t end, int64_t workers, int64_t replicas) const;
  double stageCost(size_t first, size_t end, int64_t replicas,
                   bool isFirst) const;
  double transfer(size_t state, int64_t replicas) const {
    if (!options.countTransfers)
      return 0;
    double bytes = 2 * states[state].outputBytes;
    bool code = options.formula == PipeDreamFormula::Code;
    return bytes / (level.bandwidth * (code ? double(replicas) : 1));
  }
  Cell &at(size_t first, size_t last, int64_t workers) {
    return cells[first][(last - first) * level.width + workers - 1];
  }
  const Cell &at(size_t first, size_t last, int64_t workers) const {
    return cells[first][(last - first) * level.width + workers - 1];
  }

  const std::vector<PipeDreamState> &states;
  const Compute &compute;
  PipeDreamLevel level;
  int64_t widthBelow;
  const PipeDreamOptions &options;
  size_t count;
  std::vector<std::vector<Cell>> cells; ///< [first][last - first][workers - 1].
};
} // namespace

bool Level::fits(size_t first, size_t end, int64_t workers,
                 int64_t replicas) const {
  if (options.memory == kInfinity)
    return true;
  // Minibatches in flight: workers left for later stages, per replica.
  double inFlight = std::ceil(double(level.width - workers) / double(replicas));
  double bytes = states[end - 1].activationBytes + parameters(first, end) -
                 (first ? states[first - 1].activationBytes : 0);
  return inFlight * bytes <= options.memory;
}

double Level::stageCost(size_t first, size_t end, int64_t replicas,
                        bool isFirst) const {
  double m = double(replicas), bytes = parameters(first, end);
  double time = compute[first][end];
  if (options.formula == PipeDreamFormula::Paper)
    return std::max(time, 2 * (m - 1) * bytes / level.bandwidth) / m;
  double reduce = 4 * (m - 1) * bytes / (level.bandwidth * m);
  return (time + (isFirst ? reduce / double(widthBelow) : reduce)) / m;
}

void Level::solve(size_t first) {
  cells[first].assign((count - first) * level.width, {});
  int64_t most = options.maxReplicas ? options.maxReplicas : level.width;
  for (size_t last = first; last < count; ++last)
    for (int64_t m = 1; m <= std::min(level.width, most); ++m)
      if (compute[first][last + 1] < kInfinity && fits(first, last + 1, m, m))
        at(first, last, m) = {stageCost(first, last + 1, m, true), -1,
                              int32_t(m), int32_t(m), 1};
  for (int64_t m = 2; m <= level.width; ++m)
    for (size_t last = first; last < count; ++last) {
      if (options.useFewer &&
          at(first, last, m - 1).value < at(first, last, m).value)
        at(first, last, m) = at(first, last, m - 1);
      improve(first, last + 1, m);
    }
}

void Level::improve(size_t first, size_t end, int64_t workers) {
  Cell &best = at(first, end - 1, workers);
  const std::vector<size_t> &cuts = states[end - 1].predecessors;
  int64_t most = workers - 1;
  if (options.maxReplicas)
    most = std::min(most, options.maxReplicas);
  bool code = options.formula == PipeDreamFormula::Code;
  for (auto cut = cuts.rbegin(); cut != cuts.rend() && *cut >= first; ++cut) {
    double time = compute[*cut + 1][end];
    // Infinite if the cut is on another branch than the first state.
    if (time == kInfinity || compute[first][*cut + 1] == kInfinity)
      continue;
    int64_t least = best.value < kInfinity && best.value > 0
                        ? int64_t(std::min(time / best.value, 1e9))
                        : 1;
    for (int64_t m = std::max<int64_t>(least, 1); m <= most; ++m) {
      const Cell &before = at(first, *cut, workers - m);
      if (before.value > best.value || !fits(*cut + 1, end, workers, m))
        continue;
      double value = std::max({before.value, stageCost(*cut + 1, end, m, false),
                               transfer(*cut, m)});
      if (code && end < count)
        value = std::max(value, transfer(end - 1, m));
      Cell next{value, int32_t(*cut), int32_t(m), int32_t(before.used + m),
                before.stages + 1};
      if (next.isBetterThan(best))
        best = next;
    }
  }
}

std::vector<PipeDreamStage> Level::stages(size_t first, size_t end) const {
  std::vector<PipeDreamStage> result;
  int64_t workers = level.width;
  while (true) {
    const Cell &cell = at(first, end - 1, workers);
    size_t from = cell.cut < 0 ? first : size_t(cell.cut) + 1;
    result.push_back({from, end, cell.last, {}});
    if (cell.cut < 0)
      break;
    end = from;
    workers = cell.used - cell.last;
  }
  std::reverse(result.begin(), result.end());
  return result;
}

/// Stages of level `depth`, with the stages of lower levels as `inner`.
static std::vector<PipeDreamStage> unfold(const std::vector<Level> &levels,
                                          size_t depth, size_t first,
                                          size_t end) {
  std::vector<PipeDreamStage> stages = levels[depth].stages(first, end);
  if (depth > 0)
    for (PipeDreamStage &stage : stages)
      stage.inner = unfold(levels, depth - 1, stage.first, stage.end);
  return stages;
}

Result<PipeDreamAnswer>
solvePipeDream(const std::vector<PipeDreamState> &states,
               const std::vector<PipeDreamLevel> &levels,
               const PipeDreamOptions &options) {
  size_t count = states.size();
  // [first][end]: finite only if state first - 1 is a predecessor of state
  // end - 1, or first is 0.
  Compute compute(count + 1, std::vector<double>(count + 1, kInfinity));
  for (size_t end = 1; end <= count; ++end) {
    compute[0][end] = states[end - 1].seconds;
    for (size_t before : states[end - 1].predecessors)
      compute[before + 1][end] =
          states[end - 1].seconds - states[before].seconds;
  }
  std::vector<Level> solved;
  int64_t widthBelow = 1;
  for (size_t i = 0; i < levels.size(); ++i) {
    bool top = i + 1 == levels.size();
    solved.emplace_back(states, compute, levels[i], widthBelow, top, options);
    widthBelow = levels[i].width;
    if (top)
      break;
    for (size_t first = 0; first < count; ++first)
      for (size_t end = first + 1; end <= count; ++end)
        compute[first][end] = solved.back().value(first, end);
  }
  double bottleneck = solved.back().value(0, count);
  if (bottleneck == kInfinity)
    return Error{"no stages of " + std::to_string(count) +
                 " antichains fit on the workers; allow more replicas, fewer "
                 "workers or more memory"};
  return PipeDreamAnswer{bottleneck,
                         unfold(solved, levels.size() - 1, 0, count)};
}

} // namespace stagewright
