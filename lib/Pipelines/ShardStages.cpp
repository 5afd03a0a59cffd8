//===- ShardStages.cpp - stages of gangs ----------------------------------===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ShardStages.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/JSON.h"

namespace stagewright {

StagesOfShards stagesOf(const Plan &plan, const ShardedLayers &layers) {
  StagesOfShards result;
  result.schedule = plan.schedule;
  size_t level = 0;
  for (const StagePlan &stage : plan.stages) {
    GroupStage &own = result.stages.emplace_back();
    own.groups = stage.devices;
    for (auto [number, layer] : llvm::enumerate(stage.layers)) {
      own.end = layers.ends[size_t(layer)];
      own.recompute.resize(own.recompute.size() + own.end - level,
                           stage.levelOf(number));
      level = own.end;
    }
    if (llvm::all_equal(own.recompute) && own.recompute.front() == 0)
      own.recompute.clear();
  }
  return result;
}

StagesOfShards withRepeated(const StagesOfShards &plan,
                            const std::vector<ShardLevel> &levels) {
  StagesOfShards result;
  result.schedule = plan.schedule;
  size_t before = 0, level = 0; // The second counts repeated levels too.
  for (const GroupStage &stage : plan.stages) {
    GroupStage &own = result.stages.emplace_back();
    own.groups = stage.groups;
    size_t first = before;
    while (level < levels.size() &&
           (before < stage.end || levels[level].again)) {
      bool isAgain = levels[level++].again;
      if (!stage.recompute.empty())
        own.recompute.push_back(isAgain ? 0 : stage.recompute[before - first]);
      before += !isAgain;
    }
    own.end = level;
  }
  return result;
}

std::string toJson(pipeline::GraphOp graph, const Problem &problem,
                   const std::vector<ShardLevel> &levels,
                   const StagesOfShards &plan) {
  llvm::json::Array list;
  size_t level = 0, first = 0;
  // Adds the layers that one shard has in level `number`.
  auto add = [&](size_t number, size_t shard, const GroupStage &stage,
                 llvm::json::Array &names, llvm::json::Array &again) {
    for (size_t layer : levels[number].layers[shard]) {
      names.push_back(graph.getLayerName(int64_t(layer)));
      int64_t asked =
          stage.recompute.empty() ? 0 : stage.recompute[number - first];
      again.push_back(
          std::min(asked, int64_t(problem.layers[layer].levels.size())));
    }
  };
  for (auto [number, stage] : llvm::enumerate(plan.stages)) {
    for (first = level; level < stage.end; ++level) {
      bool hasTail = level + 1 < stage.end && levels[level + 1].joinsHead;
      size_t ways = levels[level].layers.size();
      for (size_t shard = 0; shard < ways; ++shard) {
        llvm::json::Array names, again, devices;
        add(level, shard, stage, names, again);
        if (hasTail)
          add(level + 1, shard, stage, names, again);
        if (names.empty())
          continue;
        if (!stage.devices.empty())
          devices.push_back(problem.cluster.devices[stage.devices[shard]].name);
        for (size_t group : stage.groups)
          devices.push_back(problem.cluster.devices[group * ways + shard].name);
        llvm::json::Object object{{"nodes", std::move(names)},
                                  {"devices", std::move(devices)}};
        if (plan.stages.size() > 1)
          object["gang_stage"] = int64_t(number);
        if (!stage.recompute.empty())
          object["levels"] = std::move(again);
        list.push_back(std::move(object));
      }
      level += hasTail;
    }
  }
  std::string text;
  llvm::raw_string_ostream(text) << llvm::json::Value(llvm::json::Object{
      {"schedule", plan.schedule}, {"stages", std::move(list)}});
  return text;
}

} // namespace stagewright
