//===- RepeatLevels.cpp - shards that repeat their forwards ---------------===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "RepeatLevels.h"
#include "RunPasses.h"
#include "stagewright/Analysis/GraphProblem.h"
#include "stagewright/Analysis/ShardPlace.h"
#include "stagewright/Dialect/Pipeline/Transforms/Passes.h"
#include "stagewright/Dialect/Silence.h"

namespace stagewright {

static LevelRange rangeOf(const ShardedLayers &layers, size_t layer) {
  return {layer == 0 ? 0 : layers.ends[layer - 1], layers.ends[layer]};
}

std::vector<LevelRange>
repeatedIn(const Plan &plan, const ShardedLayers &layers, const Problem &fine) {
  // Layers of the gang problem have one recomputation level more than those of
  // its shards: repeating the forward.
  std::vector<int64_t> most(layers.ends.back(), 0);
  for (auto [place, layer] : llvm::zip_equal(layers.places, fine.layers))
    most[place.level] =
        std::max(most[place.level], int64_t(layer.levels.size()));
  std::vector<LevelRange> ranges;
  for (const StagePlan &stage : plan.stages)
    for (auto [number, layer] : llvm::enumerate(stage.layers)) {
      LevelRange range = rangeOf(layers, size_t(layer));
      if (stage.levelOf(number) > *std::max_element(most.begin() + range.first,
                                                    most.begin() + range.end))
        ranges.push_back(range);
    }
  return ranges;
}

std::vector<LevelRange> allButLast(const ShardedLayers &layers) {
  std::vector<LevelRange> ranges;
  for (size_t layer = 0; layer + 1 < layers.ends.size(); ++layer)
    ranges.push_back(rangeOf(layers, layer));
  return ranges;
}

void buildRepeats(OpPassManager &manager, const std::vector<ShardLevel> &levels,
                  const std::vector<LevelRange> &ranges,
                  const CompileOptions &options) {
  pipeline::RepeatLayersOptions repeat;
  for (const LevelRange &range : ranges) {
    size_t first = levels[range.first].layers.front().front(), last = first;
    for (size_t level = range.first; level < range.end; ++level)
      for (const std::vector<size_t> &own : levels[level].layers)
        for (size_t layer : own)
          last = std::max(last, layer);
    repeat.layers.push_back(std::to_string(first) + "-" + std::to_string(last));
  }
  manager.addPass(pipeline::createRepeatLayers(repeat));
  pipeline::EstimateCostOptions cost;
  cost.cluster = options.cluster;
  cost.profile = options.profile;
  manager.addPass(pipeline::createEstimateCost(cost));
}

LogicalResult checkNotRepeated(pipeline::GraphOp graph) {
  for (int64_t layer = 0; layer < graph.getNumLayers(); ++layer)
    if (pipeline::shardPlaceOf(graph.getLayerName(layer)).again)
      return emitError(graph.getLoc())
             << "layer '" << graph.getLayerName(layer)
             << "' repeats a forward already; leave out recompute-layers";
  return success();
}

FailureOr<RepeatedGraph> repeatForwards(pipeline::GraphOp graph,
                                        const std::vector<ShardLevel> &levels,
                                        const std::vector<LevelRange> &ranges,
                                        const Cluster &cluster,
                                        const CompileOptions &options) {
  if (failed(checkNotRepeated(graph)))
    return failure();
  RepeatedGraph made{
      OwningOpRef<ModuleOp>(graph->getParentOfType<ModuleOp>().clone()), {}};
  // Estimating the costs of the graph has emitted the same remarks.
  Silence silence(graph.getContext(), Silence::Errors);
  if (failed(runAside(*made.module, [&](OpPassManager &manager) {
        buildRepeats(manager, levels, ranges, options);
      })))
    return failure();
  FailureOr<Problem> problem = pipeline::problemOf(made.graph(), cluster);
  if (failed(problem))
    return failure();
  made.problem = std::move(*problem);
  return made;
}

} // namespace stagewright
