//===- FormGraph.cpp - pipeline-form-graph --------------------------------===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "GraphBuilder.h"
#include "Shard/GridPlaces.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "stagewright/Analysis/Annotations.h"
#include "stagewright/Analysis/ClusterData.h"
#include "stagewright/Analysis/Scope.h"
#include "stagewright/Analysis/ShardPlace.h"
#include "stagewright/Dialect/Pipeline/Transforms/EnsureGraph.h"
#include "stagewright/Dialect/Pipeline/Transforms/Passes.h"
#include <cmath>

namespace stagewright::pipeline {
#define GEN_PASS_DEF_FORMGRAPH
#include "stagewright/Dialect/Pipeline/Transforms/Passes.h.inc"

namespace {
struct FormGraphPass : impl::FormGraphBase<FormGraphPass> {
  using FormGraphBase::FormGraphBase;

  void runOnOperation() override {
    ModuleOp module = getOperation();
    if (!module.getOps<GraphOp>().empty())
      return;
    Result<LayerOptions> options = parseLayerOptions(layers);
    if (!options) {
      emitError(module.getLoc()) << options.error().message;
      return signalPassFailure();
    }
    auto step = ensureStep();
    if (failed(step) || failed(form(*step, *options)))
      return signalPassFailure();
  }

  /// The prices of keeping and of recomputing a value, at the rates of the
  /// cluster. The stages are not known yet, so the device with the most flops
  /// per byte of memory bandwidth decides.
  FailureOr<StashPrices> readPrices() {
    StashPrices prices;
    if (repeatRatio < 0)
      return emitError(getOperation().getLoc())
             << "repeat-ratio must be at least 0, got "
             << repeatRatio.getValue();
    prices.repeatRatio = repeatRatio;
    if (kept != "least" && kept != "written")
      return emitError(getOperation().getLoc())
             << "stash must be least or written, got '" << kept.getValue()
             << "'";
    prices.keep = kept == "least" ? StashKeep::Least : StashKeep::Written;
    FailureOr<std::optional<Cluster>> found =
        findCluster(getOperation(), cluster);
    if (failed(found))
      return failure();
    if (!*found)
      return prices;
    double operations = 0;
    for (const Device &device : (*found)->devices)
      operations =
          std::max(operations, device.flops.value / device.bandwidth.value);
    // A kept byte is written once and read once. At the upper bound nothing
    // cheap is kept.
    prices.flopsPerByte =
        std::clamp<double>(std::round(2 * operations), 1, 4096);
    return prices;
  }

  /// Whether some operation has the location of a shard.
  static bool isSharded(const StepGraph &graph) {
    return llvm::any_of(graph.ops, [](const StepOp &entry) {
      ScopePath path = scopeOf(entry.op->getLoc());
      return !path.empty() && isOfShard(path.front());
    });
  }

  static void writeAnnotations(StringRef name, const StepGraph &graph,
                               const StepAnnotations &annotations,
                               const Layers &layers, GraphOp result) {
    SmallVector<StringRef> forms;
    for (int own : annotationsOfLayers(graph, annotations, layers))
      forms.push_back(own < 0 ? "" : StringRef(annotations.list[own].form));
    result->setAttr(name, Builder(result.getContext()).getStrArrayAttr(forms));
  }

  LogicalResult form(func::FuncOp step, const LayerOptions &options) {
    FailureOr<StepGraph> graph = StepGraph::create(step);
    if (failed(graph))
      return failure();
    for (StepOp &entry : graph->ops)
      entry.op->removeAttr(PipelineDialect::kForward);
    FailureOr<StepAnnotations> annotations = readAnnotations(*graph);
    if (failed(annotations))
      return failure();
    // The layers of shards are those of pipeline-shard, which has read the
    // annotations.
    bool splits = annotations->any() && !isSharded(*graph);
    FailureOr<Layers> found =
        step->hasAttr(PipelineDialect::kGrid)
            ? layersOfGrid(*graph)
            : assignLayers(*graph, options, splits ? &*annotations : nullptr);
    if (failed(found))
      return failure();
    const Layers &layers = *found;
    std::vector<ResultPart> parts = splitResults(*graph, layers);
    SmallVector<Value> roots;
    for (const ResultPart &part : parts)
      roots.push_back(part.value);
    FailureOr<StashPrices> prices = readPrices();
    if (failed(prices))
      return failure();
    Stash stash = chooseStash(*graph, layers, roots, *prices);
    FailureOr<GraphOp> result =
        GraphBuilder(*graph, layers, stash, parts).build();
    if (failed(result))
      return failure();
    result->getOperation()->setAttr(PipelineDialect::kStash,
                                    describeStash(*graph, layers, stash));
    if (splits)
      writeAnnotations(kAnnotations, *graph, *annotations, layers, *result);
    else if (annotations->any())
      if (StepAnnotations ofReaders =
              annotationsOfReaders(*graph, *annotations);
          splitsIntoStages(ofReaders))
        writeAnnotations(kShardAnnotations, *graph, ofReaders, layers, *result);
    step.erase();

    numLayers += layers.size();
    numNodes += llvm::range_size(result->getBody().front().getOps<NodeOp>());
    keptBytes += stash.keptBytes;
    readBytes += stash.readBytes;
    return success();
  }
};
} // namespace
} // namespace stagewright::pipeline
