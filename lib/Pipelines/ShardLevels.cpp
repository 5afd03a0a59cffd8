//===- ShardLevels.cpp - levels of layers that are split ------------------===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ShardLevels.h"
#include "stagewright/Planning/Planners.h"
#include <limits>

using namespace mlir;

namespace stagewright {

/// The level and the shard of a layer, `h0.attn.t3.s1`, by its name.
static std::pair<int64_t, int64_t> placeOf(StringRef layer) {
  std::pair<int64_t, int64_t> place = {0, 0};
  auto [before, shard] = layer.rsplit(".s");
  (void)shard.getAsInteger(10, place.second);
  (void)before.rsplit(".t").second.getAsInteger(10, place.first);
  return place;
}

std::vector<ShardLevel> levelsOf(pipeline::GraphOp graph,
                                 const Problem &problem, int64_t ways) {
  std::vector<std::vector<std::string>> stages;
  std::vector<Seconds> seconds;
  std::vector<bool> isWhole;
  for (auto [number, name] : llvm::enumerate(graph.getLayers())) {
    StringRef layer = cast<StringAttr>(name).getValue();
    auto [level, shard] = placeOf(layer);
    if (int64_t(stages.size()) % ways == shard) {
      stages.emplace_back();
      seconds.emplace_back();
      isWhole.push_back(level % 2 == 0);
    }
    stages.back().push_back(layer.str());
    seconds.back() += problem.layers[number].times[0].total();
  }
  while (int64_t(stages.size()) > ways && stages.size() % size_t(ways) != 0) {
    auto &before = stages[stages.size() - 2];
    before.insert(before.end(), stages.back().begin(), stages.back().end());
    seconds[seconds.size() - 2] += seconds.back();
    stages.pop_back();
    seconds.pop_back();
  }
  std::vector<ShardLevel> levels;
  for (size_t stage = 0; stage < stages.size(); ++stage) {
    if (stage % size_t(ways) == 0)
      levels.push_back({{}, Seconds(), isWhole[stage]});
    levels.back().layers.push_back(std::move(stages[stage]));
    levels.back().seconds = std::max(levels.back().seconds, seconds[stage]);
  }
  return levels;
}

Result<std::vector<size_t>> cutLevels(const std::vector<ShardLevel> &levels,
                                      int64_t stages) {
  std::vector<size_t> ends; // By layer of the problem.
  Problem problem;
  for (size_t level = 0; level < levels.size(); ++level) {
    if (ends.empty() || levels[level - 1].isWhole) {
      problem.layers.push_back({std::to_string(level), {{}}});
      ends.push_back(level);
    }
    problem.layers.back().times[0].forward += levels[level].seconds;
    ends.back() = level + 1;
  }
  if (int64_t(ends.size()) < stages)
    return Error{"layers that are split over shards cannot be cut into " +
                 std::to_string(stages) + " stages, but into " +
                 std::to_string(ends.size()) + " at most"};
  if (stages == 1)
    return std::vector<size_t>{levels.size()};
  problem.cluster = *localCluster(stages);
  for (Device &device : problem.cluster.devices)
    device.memory = Bytes(std::numeric_limits<int64_t>::max() / 2);
  problem.stages = stages;
  problem.forwardOnly = true;
  Result<Plan> plan = planBalance(problem);
  if (!plan)
    return plan.error();
  std::vector<size_t> cut;
  for (const StagePlan &stage : plan->stages)
    cut.push_back(ends[size_t(stage.layers.back())]);
  return cut;
}

} // namespace stagewright
