//===- AlpaSolve.cpp - Alpa's stage dynamic program -----------------------===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "stagewright/Planning/Baselines/Alpa.h"
#include "stagewright/Support/Infinity.h"
#include <algorithm>

namespace stagewright {

std::vector<AlpaMesh> alpaMeshes(int64_t hosts, int64_t perHost) {
  std::vector<AlpaMesh> meshes;
  for (int64_t devices = 1; devices < perHost; devices *= 2)
    meshes.push_back({1, devices});
  for (int64_t n = 1; n <= hosts; ++n)
    meshes.push_back({n, perHost});
  return meshes;
}

namespace {
/// The stage costs, and the min sum of a plan whose stages obey a bound.
class Table {
public:
  explicit Table(const AlpaInput &input);

  /// The distinct costs in increasing order: the candidate bounds.
  const std::vector<double> &bounds() const { return costs; }
  /// The min sum of stage costs, none above `bound`; infinite if no plan.
  double solve(double bound);
  /// The stages of the last solve().
  std::vector<AlpaStage> stages() const;

private:
  struct Entry {
    double time = kInfinity;
    int64_t mostBehind = 0;
  };
  struct Cell {
    double sum = kInfinity;
    size_t end = 0, mesh = 0;
  };
  size_t indexOf(size_t first, size_t end, size_t mesh) const {
    return (first * (input.layers + 1) + end) * input.meshes.size() + mesh;
  }
  /// Index of the cell: layers [first, L) in `count` stages on `devices`
  /// devices. If the number of stages does not matter, `count` is 0.
  size_t cellOf(size_t count, size_t first, int64_t devices) const {
    return (count * (input.layers + 1) + first) * size_t(input.devices + 1) +
           size_t(devices);
  }
  void improve(size_t count, size_t first, int64_t devices, double bound);

  const AlpaInput &input;
  std::vector<Entry> entries;
  std::vector<double> costs;
  bool isCounted = false; ///< Whether the number of stages matters.
  size_t most = 0;        ///< Max number of stages.
  size_t best = 0;        ///< Number of stages of the last solve().
  std::vector<Cell> cells;
};
} // namespace

Table::Table(const AlpaInput &input)
    : input(input),
      entries(input.layers * (input.layers + 1) * input.meshes.size()) {
  most = std::min(input.layers, size_t(input.devices));
  isCounted = input.stages > 0;
  for (size_t first = 0; first < input.layers; ++first)
    for (size_t end = first + 1; end <= input.layers; ++end)
      for (size_t mesh = 0; mesh < input.meshes.size(); ++mesh) {
        double time = input.time(first, end, mesh);
        if (!(time < kInfinity))
          continue;
        int64_t behind = input.mostBehind(first, end, mesh);
        if (behind < 0)
          continue;
        isCounted |= behind + 1 < int64_t(most);
        entries[indexOf(first, end, mesh)] = {time, behind};
        costs.push_back(time);
      }
  std::sort(costs.begin(), costs.end());
  costs.erase(std::unique(costs.begin(), costs.end()), costs.end());
  cells.resize((isCounted ? most + 1 : 1) * (input.layers + 1) *
               size_t(input.devices + 1));
}

void Table::improve(size_t count, size_t first, int64_t devices, double bound) {
  Cell &target = cells[cellOf(isCounted ? count : 0, first, devices)];
  for (size_t mesh = 0; mesh < input.meshes.size(); ++mesh) {
    int64_t left = devices - input.meshes[mesh].size();
    if (left < 0)
      continue;
    for (size_t end = first + 1; end <= input.layers; ++end) {
      const Entry &stage = entries[indexOf(first, end, mesh)];
      if (stage.time > bound ||
          (isCounted && int64_t(count) - 1 > stage.mostBehind))
        continue;
      double sum =
          stage.time + cells[cellOf(isCounted ? count - 1 : 0, end, left)].sum;
      if (sum < target.sum)
        target = {sum, end, mesh};
    }
  }
}

double Table::solve(double bound) {
  std::fill(cells.begin(), cells.end(), Cell());
  cells[cellOf(0, input.layers, 0)].sum = 0;
  for (size_t count = 1; count <= (isCounted ? most : 1); ++count)
    for (size_t first = input.layers; first-- > 0;)
      for (int64_t devices = 1; devices <= input.devices; ++devices)
        improve(count, first, devices, bound);
  best = 0;
  double least = kInfinity;
  for (size_t count = isCounted ? 1 : 0; count <= (isCounted ? most : 0);
       ++count)
    if (double sum = cells[cellOf(count, 0, input.devices)].sum;
        sum < least && (input.stages == 0 || size_t(input.stages) == count)) {
      best = count;
      least = sum;
    }
  return least;
}

std::vector<AlpaStage> Table::stages() const {
  std::vector<AlpaStage> result;
  int64_t devices = input.devices;
  for (size_t first = 0, count = best; first < input.layers;) {
    const Cell &at = cells[cellOf(count, first, devices)];
    result.push_back({first, at.end, at.mesh});
    devices -= input.meshes[at.mesh].size();
    first = at.end;
    count -= isCounted;
  }
  return result;
}

Result<AlpaAnswer> solveAlpa(const AlpaInput &input) {
  Table table(input);
  const std::vector<double> &bounds = table.bounds();
  double leastSum = table.solve(kInfinity);
  if (leastSum == kInfinity)
    return Error{"no stages of " + std::to_string(input.layers) +
                 " layers on all of " + std::to_string(input.devices) +
                 " devices fit in memory; use fewer devices or stages, or "
                 "devices with more memory"};
  // Feasibility is monotone in the bound, so binary search is valid.
  auto start =
      std::partition_point(bounds.begin(), bounds.end(), [&](double bound) {
        return table.solve(bound) == kInfinity;
      });
  double rounds = double(input.microbatches - 1);
  AlpaAnswer best{kInfinity, {}};
  for (auto bound = start; bound != bounds.end(); ++bound) {
    if (leastSum + rounds * *bound >= best.time)
      break;
    double sum = table.solve(*bound), slowest = 0;
    std::vector<AlpaStage> stages = table.stages();
    for (const AlpaStage &stage : stages)
      slowest =
          std::max(slowest, input.time(stage.first, stage.end, stage.mesh));
    if (sum + rounds * slowest < best.time)
      best = {sum + rounds * slowest, std::move(stages)};
  }
  return best;
}

} // namespace stagewright
