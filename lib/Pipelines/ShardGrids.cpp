//===- ShardGrids.cpp - shards, groups and copies to try ------------------===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ShardGrids.h"
#include "ShardLevels.h"
#include "stagewright/Analysis/GraphProblem.h"
#include "stagewright/Cost/Network.h"
#include "stagewright/Scheduling/Generators.h"

using namespace mlir;

namespace stagewright {

/// With several stages per group the kTriedChunks most promising numbers up to
/// kMostChunks are tried, in this schedule.
static constexpr int64_t kMostChunks = 16;
static constexpr size_t kTriedChunks = 3;
static constexpr const char *kOfChunks = "interleaved";

std::vector<int64_t> divisorsOf(int64_t number) {
  std::vector<int64_t> divisors;
  for (int64_t i = 1; i <= number; ++i)
    if (number % i == 0)
      divisors.push_back(i);
  return divisors;
}

/// Seconds that a pipeline of `grid` promises if it runs interleaved: every
/// stage takes as long as the slowest, and the first and the last microbatch
/// wait for each message between groups.
static double promiseOf(const std::vector<ShardLevel> &levels,
                        const std::vector<size_t> &ends, const Grid &grid,
                        int64_t microbatches, const Network &network) {
  double slowest = 0;
  int64_t bytes = 0;
  size_t level = 0;
  for (size_t end : ends) {
    double seconds = 0;
    for (; level < end; ++level)
      seconds += levels[level].seconds.value;
    slowest = std::max(slowest, seconds);
    bytes += levels[end - 1].bytes;
  }
  size_t next = size_t(grid.ways); // The first device of the next group.
  double messages =
      double(bytes) / double(grid.ways) / network.bandwidth(0, next) +
      2 * double(ends.size()) * network.latency(0, next);
  return double(microbatches * grid.chunks + grid.groups - 1) * slowest +
         messages;
}

/// The most promising numbers of stages per group, from 2 on.
static std::vector<int64_t>
promisingChunks(const std::vector<ShardLevel> &levels, Grid grid,
                int64_t microbatches, const Network &network) {
  std::vector<std::pair<double, int64_t>> promises;
  for (grid.chunks = 2; grid.chunks <= kMostChunks; ++grid.chunks) {
    Result<std::vector<size_t>> ends = cutLevels(levels, grid.stages());
    if (!ends)
      break;
    promises.push_back(
        {promiseOf(levels, *ends, grid, microbatches, network), grid.chunks});
  }
  llvm::sort(promises);
  promises.resize(std::min(promises.size(), kTriedChunks));
  std::vector<int64_t> list;
  for (auto [seconds, chunks] : promises)
    list.push_back(chunks);
  return list;
}

FailureOr<std::vector<Grid>> gridsOf(pipeline::GraphOp graph, int64_t ways,
                                     int64_t microbatches,
                                     const Cluster &cluster,
                                     const CompileOptions &options) {
  FailureOr<Problem> problem = pipeline::problemOf(graph, cluster);
  if (failed(problem))
    return failure();
  Result<Network> network = Network::create(cluster);
  if (!network)
    return emitError(graph.getLoc()) << network.error().message;
  std::vector<ShardLevel> levels = levelsOf(graph, *problem, ways);
  int64_t devices = int64_t(cluster.devices.size());
  auto generator = findGenerator(options.schedule);
  std::vector<Grid> grids;
  for (int64_t groups : divisorsOf(devices / ways)) {
    int64_t copies = options.dataParallel.value_or(
        pipeline::joinsResults(graph)
            ? 1
            : std::min(devices / (ways * groups), microbatches));
    if (ways * groups * copies > devices)
      continue;
    Grid grid{ways, groups, 1, copies, ""};
    auto add = [&](int64_t chunks, const char *schedule) {
      grid.chunks = chunks;
      grid.schedule = schedule;
      if (options.stages.value_or(grid.stages()) == grid.stages())
        grids.push_back(grid);
    };
    bool isOpen = groups > 1 && !generator && !options.chunks;
    add(groups == 1 || isOpen
            ? 1
            : options.chunks.value_or(generator ? generator->leastChunks : 1),
        "");
    // The schedule runs rounds of as many microbatches as groups.
    if (!isOpen || microbatches % (copies * groups) != 0)
      continue;
    if (int64_t asked = options.stages.value_or(0)) {
      if (asked > groups && asked % groups == 0)
        add(asked / groups, kOfChunks);
      continue;
    }
    for (int64_t chunks :
         promisingChunks(levels, grid, microbatches / copies, *network))
      add(chunks, kOfChunks);
  }
  return grids;
}

} // namespace stagewright
