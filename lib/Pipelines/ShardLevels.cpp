//===- ShardLevels.cpp - levels of layers that are split ------------------===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ShardLevels.h"
#include "stagewright/Dialect/Pipeline/Transforms/ShardPlace.h"
#include "stagewright/Planning/Planners.h"
#include <limits>

using namespace mlir;

namespace stagewright {

std::vector<ShardLevel> levelsOf(pipeline::GraphOp graph,
                                 const Problem &problem, int64_t ways) {
  struct Stage {
    std::vector<std::string> layers;
    Seconds seconds;
    bool isWhole = false;
  };
  std::vector<Stage> stages;
  for (auto [number, name] : llvm::enumerate(graph.getLayers())) {
    StringRef layer = cast<StringAttr>(name).getValue();
    pipeline::ShardPlace place = pipeline::shardPlaceOf(layer);
    if (stages.empty() || int64_t(stages.size()) % ways == place.shard)
      stages.push_back({{}, Seconds(), place.isWhole()});
    stages.back().layers.push_back(layer.str());
    stages.back().seconds += problem.layers[number].times[0].total();
  }
  while (int64_t(stages.size()) > ways && stages.size() % size_t(ways) != 0) {
    Stage last = std::move(stages.back());
    stages.pop_back();
    llvm::append_range(stages.back().layers, last.layers);
    stages.back().seconds += last.seconds;
  }
  std::vector<ShardLevel> levels;
  for (auto [number, stage] : llvm::enumerate(stages)) {
    if (number % size_t(ways) == 0)
      levels.push_back({{}, Seconds(), stage.isWhole});
    levels.back().layers.push_back(std::move(stage.layers));
    levels.back().seconds = std::max(levels.back().seconds, stage.seconds);
  }
  return levels;
}

Result<std::vector<size_t>> cutLevels(const std::vector<ShardLevel> &levels,
                                      int64_t stages) {
  std::vector<size_t> ends; // By layer of `problem`: the level after it.
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
