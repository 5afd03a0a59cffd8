//===- ApplyAnnotations.cpp - annotations as options ----------------------===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ApplyAnnotations.h"
#include "RunPasses.h"
#include "stagewright/Analysis/Annotations.h"
#include "stagewright/Analysis/ShardPlace.h"
#include "stagewright/Dialect/Pipeline/Transforms/EnsureGraph.h"
#include "stagewright/Dialect/Pipeline/Transforms/Passes.h"

namespace stagewright {

using pipeline::Annotation;
using pipeline::StepAnnotations;

/// The number of devices of each annotation in `list`, at least one of which
/// splits layers. Emits an error if the numbers differ.
static FailureOr<int64_t> commonCount(Location loc,
                                      const std::vector<Annotation> &list) {
  const Annotation &first =
      *llvm::find_if(list, [](const Annotation &each) { return each.splits; });
  for (const Annotation &each : list)
    if (each.count != first.count)
      return emitError(loc)
             << each.text() << " and " << first.text() << " are for different "
             << "numbers of devices, but a step that has split(N) runs on "
             << "groups of N devices: layers with replicate(N) on the same "
             << "ones; give both the same number";
  return first.count;
}

/// The number of stages if annotations split the step into stages
/// (splitsIntoStages()); else nothing.
static std::optional<int64_t> stagesOf(const StepAnnotations &ofReaders) {
  if (!pipeline::splitsIntoStages(ofReaders))
    return std::nullopt;
  int64_t runs = 0;
  int before = StepAnnotations::kOpen;
  for (int own : ofReaders.of) {
    if (own == StepAnnotations::kOpen || own == before)
      continue;
    before = own;
    ++runs;
  }
  return runs;
}

LogicalResult applyAnnotations(ModuleOp module, CompileOptions &options) {
  bool isFormed = !module.getOps<pipeline::GraphOp>().empty();
  if (isFormed && !options.annotate.empty())
    return emitError(module.getLoc())
           << "annotations need a step, but the module has a graph, whose "
              "layers are already formed; give the step, or leave out "
              "--annotate";
  if (isFormed ||
      (options.annotate.empty() && !pipeline::hasAnnotations(module)))
    return success();
  auto prepare = [&](OpPassManager &manager) {
    manager.addPass(pipeline::createInferRoles());
    manager.addPass(pipeline::createSplitSlices());
    pipeline::AnnotateOptions how;
    how.annotate = options.annotate;
    manager.addPass(pipeline::createAnnotate(how));
  };
  if (failed(runAside(module, prepare)))
    return failure();
  options.annotate.clear();
  auto graph = pipeline::StepGraph::create(pipeline::findAnnotatedStep(module));
  if (failed(graph))
    return failure();
  FailureOr<StepAnnotations> annotations = pipeline::readAnnotations(*graph);
  if (failed(annotations))
    return failure();
  const std::vector<Annotation> &list = annotations->list;
  if (llvm::none_of(list, [](const auto &each) { return each.splits; })) {
    if (!list.empty() && options.shards.value_or(1) != 1)
      return emitError(module.getLoc())
             << list.front().text() << " replicates whole layers, but "
             << "--tensor-parallel splits them; leave that out, or write "
             << "split(N) around the layers to be split";
    return success();
  }
  FailureOr<int64_t> count = commonCount(module.getLoc(), list);
  if (failed(count))
    return failure();
  if (options.shards && *options.shards != kChooseShards &&
      *options.shards != *count)
    return emitError(module.getLoc())
           << list.front().text() << " is for " << *count << " devices, but "
           << "--tensor-parallel splits layers over " << *options.shards
           << "; leave that out";
  if (!options.plan.empty())
    return emitError(module.getLoc())
           << "layers that are split, as by " << list.front().text()
           << ", get their places from the annotations; leave out --plan";
  options.shards = *count;
  std::optional<int64_t> stages =
      stagesOf(pipeline::annotationsOfReaders(*graph, *annotations));
  if (stages && options.stages && *options.stages != *stages)
    return emitError(module.getLoc())
           << "annotations ask for " << *stages << " stages, and the options "
           << "for " << *options.stages << "; leave out --stages";
  if (stages)
    options.stages = stages;
  return success();
}

std::vector<size_t> annotatedEnds(pipeline::GraphOp graph,
                                  const std::vector<ShardLevel> &levels) {
  std::vector<size_t> ends;
  auto forms = graph->getAttrOfType<ArrayAttr>(pipeline::kShardAnnotations);
  if (!forms)
    return ends;
  // Only levels that compute with split parameters must be in the stage of
  // their annotation. Between them, a stage ends where the fewest bytes cross.
  std::optional<size_t> before;
  StringRef annotation;
  for (auto [number, level] : llvm::enumerate(levels)) {
    if (level.again) // It is on the devices of the level that it repeats.
      continue;
    StringRef own;
    bool isSplit = false;
    for (const std::vector<size_t> &ofShard : level.layers)
      for (size_t layer : ofShard) {
        isSplit |= !pipeline::shardPlaceOf(graph.getLayerName(int64_t(layer)))
                        .isWhole();
        StringRef form = cast<StringAttr>(forms[layer]).getValue();
        own = own.empty() ? form : own;
      }
    if (!isSplit || own.empty())
      continue;
    if (before && own != annotation) {
      std::optional<size_t> best;
      for (size_t end = *before; end < number; ++end)
        if (levels[end].mayEnd &&
            (!best || levels[end].bytes < levels[*best].bytes))
          best = end;
      if (best)
        ends.push_back(*best + 1);
    }
    before = number;
    annotation = own;
  }
  ends.push_back(levels.size());
  return ends;
}

} // namespace stagewright
