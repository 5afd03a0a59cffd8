//===- Shard.cpp - pipeline-shard -----------------------------------------===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Annotated.h"
#include "Choose.h"
#include "Hints.h"
#include "SplitFunction.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "stagewright/Analysis/ClusterData.h"
#include "stagewright/Dialect/Pipeline/IR/Pipeline.h"
#include "stagewright/Dialect/Pipeline/Transforms/EnsureGraph.h"
#include "stagewright/Dialect/Pipeline/Transforms/Passes.h"

namespace stagewright::pipeline {
#define GEN_PASS_DEF_SHARD
#include "stagewright/Dialect/Pipeline/Transforms/Passes.h.inc"

namespace {

struct ShardPass : impl::ShardBase<ShardPass> {
  using ShardBase::ShardBase;

  void runOnOperation() override {
    ModuleOp module = getOperation();
    if (ways == 1)
      return;
    if (ways < 1 || ways > kMostWays) {
      emitError(module.getLoc()) << "ways must be from 1 to " << kMostWays
                                 << ", got " << ways.getValue();
      return signalPassFailure();
    }
    if (!module.getOps<GraphOp>().empty()) {
      emitError(module.getLoc())
          << "pipeline-shard splits a step, but the module has a graph";
      return signalPassFailure();
    }
    auto found = ensureStep();
    if (failed(found))
      return signalPassFailure();
    func::FuncOp step = *found;
    if (failed(checkUnsplit(step)))
      return signalPassFailure();
    FailureOr<HintedLayouts> hinted = readLayouts(step, hints, ways);
    if (failed(hinted))
      return signalPassFailure();
    FailureOr<StepGraph> graph = StepGraph::create(step);
    if (failed(graph))
      return signalPassFailure();
    FailureOr<StepAnnotations> annotations = readAnnotations(*graph);
    if (failed(annotations))
      return signalPassFailure();
    auto batches = sharedBatches(step, *annotations, ways);
    if (failed(batches) ||
        failed(chooseOpen(step, *graph, *annotations, *hinted)))
      return signalPassFailure();
    if (!hinted->batches.empty()) {
      batches->resize(step.getNumArguments());
      for (auto [layout, given] : llvm::zip_equal(*batches, hinted->batches))
        if (given.isSplit())
          layout = given;
    }
    std::map<int64_t, Layout> byPosition;
    for (auto [i, layout] : llvm::enumerate(hinted->layouts))
      byPosition[step.getArgAttrOfType<IntegerAttr>(unsigned(i),
                                                    PipelineDialect::kPosition)
                     .getInt()] = layout;
    for (Layout layout : hinted->layouts)
      numSplit += layout.isSplit();
    FunctionSplitter splitter{.ways = ways,
                              .scatters = scatters,
                              .cuts = cuts,
                              .batches = std::move(*batches)};
    Boxes boxes = splitter.split(step, &*graph, hinted->layouts);
    if (auto update = module.lookupSymbol<func::FuncOp>("update"))
      boxes += splitter.splitUpdate(update, byPosition);
    numSums += boxes.sums;
    numScatters += boxes.scatters;
    numExchanges += boxes.exchanges;
    numJoins += boxes.joins;
  }

private:
  /// Fails if an argument is a part of a parameter already: a part has one
  /// split dimension.
  static LogicalResult checkUnsplit(func::FuncOp step) {
    for (unsigned i = 0; i < step.getNumArguments(); ++i)
      if (step.getArgAttr(i, PipelineDialect::kSliceDim))
        return emitError(step.getArgument(i).getLoc())
               << "pipeline-shard splits whole layers, but argument " << i
               << " is a part that one shard has; split the layers once";
    return success();
  }

  /// The rates of the shards' devices: those of the cluster, else of this host.
  FailureOr<ShardRates> readRates() {
    FailureOr<std::optional<Cluster>> found =
        findCluster(getOperation(), cluster);
    if (failed(found))
      return failure();
    Result<Cluster> devices =
        *found ? Result<Cluster>(std::move(**found)) : localCluster(ways);
    Result<ShardRates> rates =
        devices ? ratesOf(*devices, ways) : devices.error();
    if (!rates)
      return emitError(getOperation().getLoc()) << rates.error().message;
    return *rates;
  }

  /// Fails if split(n) has parameters and none of them is split.
  LogicalResult checkSplit(func::FuncOp step, const OpenParameters &group,
                           ArrayRef<Layout> layouts) {
    bool isSplit = llvm::any_of(
        group.arguments, [&](unsigned i) { return layouts[i].isSplit(); });
    if (!group.annotation || group.arguments.empty() || isSplit)
      return success();
    return emitError(step.getLoc())
           << group.annotation->text() << " splits no parameter: none that is "
           << "used there has a dimension, or heads or the like in one, of at "
           << "least " << ways.getValue() << " that no other split excludes";
  }

  /// Chooses how open parameters are split, and reports it in a remark.
  LogicalResult chooseOpen(func::FuncOp step, const StepGraph &graph,
                           const StepAnnotations &annotations,
                           HintedLayouts &hinted) {
    auto isSplit = [](Layout layout) { return layout.isSplit(); };
    auto groups = openParameters(graph, annotations, ways, hinted);
    if (failed(groups))
      return failure();
    bool isOpen = llvm::any_of(
        *groups, [](const auto &it) { return !it.arguments.empty(); });
    if (isOpen) {
      FailureOr<ShardRates> rates = readRates();
      if (failed(rates))
        return failure();
      ShardChoice choice;
      for (const OpenParameters &group : *groups) {
        if (!group.arguments.empty())
          choice = chooseLayouts(graph, ways, *rates, group.arguments,
                                 hinted.layouts);
        if (failed(checkSplit(step, group, hinted.layouts)))
          return failure();
      }
      if (llvm::none_of(hinted.layouts, isSplit))
        return emitError(step.getLoc())
               << "no parameter can be split over " << ways.getValue()
               << " shards: none has a dimension, or heads or the like in one, "
               << "of at least " << ways.getValue();
      auto percent = [&](double seconds) {
        return std::lround(100 * seconds / std::max(choice.all, 1e-30));
      };
      emitRemark(step.getLoc())
          << "layers are split over " << ways.getValue()
          << " shards as by --shard='" << writeHints(step, hinted.layouts)
          << "', which saves each shard " << percent(choice.saved)
          << " % of a microbatch's time and adds " << percent(choice.spent)
          << " % for messages";
      return success();
    }
    if (llvm::any_of(hinted.layouts, isSplit) ||
        llvm::any_of(hinted.batches, isSplit))
      return success();
    return emitError(step.getLoc())
           << "no parameter is split over the " << ways.getValue()
           << " shards: "
           << (hints.empty() ? "the step has none"
                             : "all hints say 'whole'; leave them out, or let "
                               "one say 'auto'");
  }
};

} // namespace
} // namespace stagewright::pipeline
