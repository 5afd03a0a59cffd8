//===- BlockPaths.cpp - short paths over fast links -----------------------===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Spp/BlockPaths.h"
#include <algorithm>
#include <cmath>
#include <tuple>

namespace stagewright {

/// About how many changes of a path all improving sweeps together evaluate.
static constexpr size_t kMostChanges = 2'000'000;
/// A change must save more than a rounding error, or sweeps would not end.
static constexpr double kLeastSaving = 1e-9;

namespace {
using Path = std::vector<size_t>;

/// The cost of each step from block to block.
class Steps {
public:
  Steps(const Network &network, const std::vector<Block> &blocks, int power)
      : count(blocks.size()), costs(count * count, 0) {
    for (size_t a = 0; a < count; ++a)
      for (size_t b = 0; b < count; ++b)
        if (a != b)
          costs[a * count + b] =
              std::pow(network.largestBandwidth() /
                           network.bandwidth(blocks[a][0], blocks[b][0]),
                       power);
  }

  size_t size() const { return count; }
  double of(size_t a, size_t b) const { return costs[a * count + b]; }
  /// Cost of the step from place `i` of `path` to the next; 0 at its end.
  double after(const Path &path, size_t i) const {
    return i + 1 < path.size() ? of(path[i], path[i + 1]) : 0;
  }
  double total(const Path &path) const {
    double sum = 0;
    for (size_t i = 0; i + 1 < path.size(); ++i)
      sum += after(path, i);
    return sum;
  }

private:
  size_t count;
  std::vector<double> costs;
};
} // namespace

/// The path from `start` that always continues with the cheapest block left.
static Path greedyPath(const Steps &steps, size_t start) {
  Path path = {start};
  std::vector<bool> used(steps.size(), false);
  used[start] = true;
  while (path.size() < steps.size()) {
    size_t last = path.back(), next = steps.size();
    for (size_t b = 0; b < steps.size(); ++b)
      if (!used[b] &&
          (next == steps.size() || steps.of(last, b) < steps.of(last, next)))
        next = b;
    used[next] = true;
    path.push_back(next);
  }
  return path;
}

/// Reverses parts of the path where that is cheaper (2-opt); returns whether
/// it changed.
static bool turnParts(const Steps &steps, Path &path) {
  bool improved = false;
  for (size_t i = 0; i < path.size(); ++i)
    for (size_t j = i + 1; j < path.size(); ++j) {
      double before = steps.after(path, j), after = 0;
      if (i > 0) {
        before += steps.after(path, i - 1);
        after += steps.of(path[i - 1], path[j]);
      }
      if (j + 1 < path.size())
        after += steps.of(path[i], path[j + 1]);
      if (after < before - kLeastSaving) {
        std::reverse(path.begin() + i, path.begin() + j + 1);
        improved = true;
      }
    }
  return improved;
}

/// Moves single blocks to cheaper places (or-opt); returns whether the path
/// changed.
static bool moveBlocks(const Steps &steps, Path &path) {
  bool improved = false;
  for (size_t i = 0; i < path.size(); ++i) {
    size_t block = path[i];
    Path rest = path;
    rest.erase(rest.begin() + i);
    double saved = steps.after(path, i);
    if (i > 0)
      saved += steps.after(path, i - 1);
    if (i > 0 && i < rest.size())
      saved -= steps.of(rest[i - 1], rest[i]);
    size_t best = i;
    double least = saved - kLeastSaving;
    for (size_t at = 0; at <= rest.size(); ++at) {
      double cost = 0;
      if (at > 0)
        cost += steps.of(rest[at - 1], block);
      if (at < rest.size())
        cost += steps.of(block, rest[at]);
      if (at > 0 && at < rest.size())
        cost -= steps.of(rest[at - 1], rest[at]);
      if (cost < least) {
        least = cost;
        best = at;
      }
    }
    if (best != i) {
      rest.insert(rest.begin() + best, block);
      path = std::move(rest);
      improved = true;
    }
  }
  return improved;
}

std::vector<BlockPath> shortBlockPaths(const Network &network,
                                       const std::vector<Block> &blocks,
                                       int power, size_t most) {
  Steps steps(network, blocks, power);
  size_t count = blocks.size(), starts = std::min(most, count);
  size_t sweeps = kMostChanges / (starts * count * count + 1) + 1;
  std::vector<BlockPath> paths;
  for (size_t i = 0; i < starts; ++i) {
    Path path = greedyPath(steps, i * count / starts);
    bool improved = true;
    for (size_t sweep = 0; sweep < sweeps && improved; ++sweep) {
      improved = turnParts(steps, path);
      improved |= moveBlocks(steps, path);
    }
    paths.push_back({steps.total(path), std::move(path)});
  }
  std::sort(paths.begin(), paths.end(),
            [](const BlockPath &a, const BlockPath &b) {
              return std::tie(a.cost, a.blocks) < std::tie(b.cost, b.blocks);
            });
  return paths;
}

} // namespace stagewright
