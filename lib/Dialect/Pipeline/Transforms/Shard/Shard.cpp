//===- Shard.cpp - pipeline-shard -----------------------------------------===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "../SplitHints.h"
#include "Annotated.h"
#include "Choose.h"
#include "GridPlaces.h"
#include "Hints.h"
#include "SplitFunction.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "stagewright/Analysis/ClusterData.h"
#include "stagewright/Dialect/Pipeline/IR/Pipeline.h"
#include "stagewright/Dialect/Pipeline/Transforms/EnsureGraph.h"
#include "stagewright/Dialect/Pipeline/Transforms/Passes.h"
#include "stagewright/Support/DeviceGroups.h"
#include "llvm/ADT/StringExtras.h"

namespace stagewright::pipeline {
#define GEN_PASS_DEF_SHARD
#include "stagewright/Dialect/Pipeline/Transforms/Passes.h.inc"

namespace {

struct ShardPass : impl::ShardBase<ShardPass> {
  using ShardBase::ShardBase;

  void runOnOperation() override {
    if (failed(checkOfStages()))
      return signalPassFailure();
    if (grid.empty() && stages.empty() && ways == 1)
      return;
    ModuleOp module = getOperation();
    if (failed(checkWays()))
      return signalPassFailure();
    if (!module.getOps<GraphOp>().empty()) {
      emitError(module.getLoc())
          << "pipeline-shard splits a step, but the module has a graph";
      return signalPassFailure();
    }
    auto found = ensureStep();
    int64_t all = ways;
    if (failed(found) || failed(checkUnsplit(*found)) ||
        failed(!stages.empty() ? splitStages(*found)
               : grid.empty()  ? splitOver(*found, {all, 0})
                               : splitOverGrid(*found)))
      return signalPassFailure();
  }

private:
  /// Fails if there are no `stages`, but an option that is used only with them.
  LogicalResult checkOfStages() {
    if (!stages.empty())
      return success();
    auto fail = [&](const char *name, StringRef value) {
      return emitError(placeOfStep(getOperation()))
             << "'" << name << "' is '" << value << "', but it is used only "
             << "with 'stages'; give the numbers of shards of the stages, such "
             << "as stages=4,2, or leave it out";
    };
    if (!devices.empty())
      return fail("stage-devices", devices);
    return layers == "auto" ? success() : fail("layers", layers);
  }

  /// Splits the step over one axis of shards.
  LogicalResult splitOver(func::FuncOp step, ShardAxis axis) {
    ModuleOp module = getOperation();
    shards = axis.ways();
    FailureOr<HintedLayouts> hinted = readLayouts(step, hints, axis);
    if (failed(hinted))
      return failure();
    FailureOr<StepGraph> graph = StepGraph::create(step);
    if (failed(graph))
      return failure();
    FailureOr<StepAnnotations> annotations = readAnnotations(*graph);
    if (failed(annotations))
      return failure();
    if (!grid.empty() && annotations->any())
      return emitError(step.getLoc())
             << annotations->list.front().text() << " places layers on one "
             << "axis of devices, but the shards form a grid of " << grid[0]
             << "x" << grid[1] << "; remove it, or give one number of shards";
    auto batches = sharedBatches(step, *annotations, shards);
    if (failed(batches) ||
        failed(chooseOpen(step, *graph, *annotations, axis, *hinted)))
      return failure();
    if (!hinted->batches.empty()) {
      batches->resize(step.getNumArguments());
      for (auto [layout, given] : llvm::zip_equal(*batches, hinted->batches))
        if (given.isSplit())
          layout = given;
    }
    LayoutsByPosition byPosition;
    for (auto [i, layout] : llvm::enumerate(hinted->layouts))
      byPosition[positionOf(step, unsigned(i))] = layout;
    for (Layout layout : hinted->layouts)
      numSplit += layout.isSplit();
    FunctionSplitter splitter{.ways = shards,
                              .scatters = scatters,
                              .cuts = cuts && grid.empty(),
                              .isOfGrid = !grid.empty(),
                              .batches = std::move(*batches)};
    Boxes boxes = splitter.split(step, &*graph, hinted->layouts);
    if (auto update = module.lookupSymbol<func::FuncOp>("update"))
      boxes += splitter.splitUpdate(update, byPosition);
    count(boxes);
    return success();
  }

  void count(const Boxes &boxes) {
    numSums += boxes.sums;
    numScatters += boxes.scatters;
    numExchanges += boxes.exchanges;
    numJoins += boxes.joins;
  }

  /// The position and the slice of argument `number` of the step.
  static std::pair<int64_t, int64_t> positionOf(func::FuncOp step,
                                                unsigned number) {
    auto position =
        step.getArgAttrOfType<IntegerAttr>(number, PipelineDialect::kPosition);
    return {position.getInt(), sliceOf(step, number)};
  }

  /// Splits the step into stages, each over shards of its own number.
  LogicalResult splitStages(func::FuncOp step) {
    SmallVector<int64_t> counts(stages.begin(), stages.end());
    shards = *llvm::max_element(counts);
    FailureOr<StepGraph> graph = StepGraph::create(step);
    if (failed(graph))
      return failure();
    FailureOr<StepAnnotations> annotations = readAnnotations(*graph);
    Result<LayerOptions> how = parseLayerOptions(layers);
    if (failed(annotations))
      return failure();
    if (!how)
      return emitError(step.getLoc()) << how.error().message;
    if (annotations->any())
      return emitError(step.getLoc())
             << annotations->list.front().text() << " places layers, but the "
             << "stages have numbers of shards of their own; remove it, or "
             << "give one number of shards";
    FailureOr<ShardRates> rates = readRates();
    if (failed(rates))
      return failure();
    FailureOr<StageShards> cut = cutIntoStages(
        *graph, assignLayers(*graph, *how), counts, rates->device);
    if (failed(cut))
      return failure();
    if (failed(readDevices(*cut)))
      return failure();
    SmallVector<int64_t> byArgument;
    for (unsigned i = 0; i < step.getNumArguments(); ++i)
      byArgument.push_back(cut->waysOf(i));
    FailureOr<HintedLayouts> hinted =
        readLayouts(step, hints, {shards, 0, byArgument});
    if (failed(hinted) || failed(checkTied(step, *cut, *hinted)) ||
        failed(chooseInStages(step, *graph, *cut, *rates, *hinted)))
      return failure();
    LayoutsByPosition byPosition;
    StagesByPosition stageOf;
    for (auto [i, layout] : llvm::enumerate(hinted->layouts)) {
      if (cut->waysOf(unsigned(i)) == 1)
        layout = Layout();
      auto position = positionOf(step, unsigned(i));
      byPosition[position] = layout;
      stageOf[position] = std::max(cut->stageOf(unsigned(i)), 0);
      numSplit += layout.isSplit();
    }
    if (failed(checkStacks(step, *cut, *hinted)))
      return failure();
    FunctionSplitter splitter{.ways = shards,
                              .scatters = scatters,
                              .batches = hinted->batches,
                              .stages = &*cut};
    Boxes boxes = splitter.split(step, &*graph, hinted->layouts);
    if (auto update = getOperation().lookupSymbol<func::FuncOp>("update"))
      boxes += splitter.splitUpdate(update, byPosition, stageOf);
    count(boxes);
    return success();
  }

  /// Reads the devices of the stages.
  LogicalResult readDevices(StageShards &cut) {
    auto groups =
        parseDeviceGroups(devices, {cut.ways.begin(), cut.ways.end()});
    if (!groups)
      return emitError(placeOfStep(getOperation())) << groups.error().message;
    cut.devices = std::move(*groups);
    return success();
  }

  /// Fails if rows of a stack have different numbers of parts: rows and their
  /// parts are numbered together, by row * parts + part.
  LogicalResult checkStacks(func::FuncOp step, const StageShards &cut,
                            const HintedLayouts &hinted) {
    std::map<int64_t, int64_t> partsOf; // By position.
    for (auto [i, layout] : llvm::enumerate(hinted.layouts)) {
      auto [position, slice] = positionOf(step, unsigned(i));
      int64_t parts = layout.isSplit() ? cut.waysOf(unsigned(i)) : 1;
      if (slice < 0 ||
          partsOf.try_emplace(position, parts).first->second == parts)
        continue;
      return emitError(step.getLoc())
             << "rows of '" << nameOf(step, unsigned(i))
             << "', the parameters of several layers in one array, would have "
             << partsOf[position] << " and " << parts
             << " parts in stages with " << textOf(cut.ways)
             << " shards; give it a hint such as --shard='"
             << nameOf(step, unsigned(i))
             << "=whole', or stages with equal numbers of shards";
    }
    return success();
  }

  /// A parameter that several stages read stays whole. Fails if a hint or the
  /// model's file splits it.
  LogicalResult checkTied(func::FuncOp step, const StageShards &cut,
                          HintedLayouts &hinted) {
    for (unsigned i = 0; i < step.getNumArguments(); ++i) {
      const std::set<int> &readers = cut.readers[i];
      if (readers.size() < 2)
        continue;
      llvm::erase(hinted.open, i);
      bool isBatch = !hinted.batches.empty() && hinted.batches[i].isSplit();
      if (isBatch) // Each stage takes its parts.
        continue;
      if (hinted.layouts[i].isSplit())
        return emitError(step.getLoc())
               << "stages " << *readers.begin() << " and " << *readers.rbegin()
               << " read '" << nameOf(step, i) << "', and have "
               << cut.ways[size_t(*readers.begin())] << " and "
               << cut.ways[size_t(*readers.rbegin())]
               << " shards; a parameter of several stages cannot be split, "
               << "give it a hint such as --shard='" << nameOf(step, i)
               << "=whole'";
    }
    return success();
  }

  /// "4, 2"
  static std::string textOf(ArrayRef<int64_t> counts) {
    return llvm::join(
        llvm::map_range(counts, [](int64_t it) { return std::to_string(it); }),
        ", ");
  }

  static StringRef nameOf(func::FuncOp step, unsigned argument) {
    auto name =
        step.getArgAttrOfType<StringAttr>(argument, PipelineDialect::kName);
    return name ? name.getValue() : StringRef("an argument");
  }

  /// Chooses how the open parameters of each stage are split.
  LogicalResult chooseInStages(func::FuncOp step, const StepGraph &graph,
                               const StageShards &cut, const ShardRates &rates,
                               HintedLayouts &hinted) {
    if (shards == 1) // Every stage is on one device.
      return success();
    for (auto [stage, count] : llvm::enumerate(cut.ways)) {
      SmallVector<unsigned> open;
      for (unsigned i : hinted.open)
        if (cut.stageOf(i) == int(stage))
          open.push_back(i);
      if (count > 1 && !open.empty())
        chooseLayouts(graph, count, rates, open, hinted.layouts);
    }
    if (!hinted.open.empty())
      emitRemark(step.getLoc())
          << "layers are split in " << cut.ways.size() << " stages over "
          << textOf(cut.ways) << " shards as by --shard='"
          << writeHints(step, hinted.layouts) << "'";
    auto isSplit = [](Layout layout) { return layout.isSplit(); };
    if (llvm::any_of(hinted.layouts, isSplit) ||
        llvm::any_of(hinted.batches, isSplit))
      return success();
    return emitError(step.getLoc())
           << "no parameter is split over " << textOf(cut.ways)
           << " shards; let a hint name one, as --shard='*/w=0', or leave "
           << "--tensor-parallel out";
  }

  /// Splits the step over the first axis, and what each of its shards does over
  /// the second.
  LogicalResult splitOverGrid(func::FuncOp step) {
    SmallVector<int64_t> sizes(grid.begin(), grid.end());
    for (unsigned axis = 0; axis < sizes.size(); ++axis) {
      if (failed(splitOver(step, {sizes, axis})))
        return failure();
      step = *ensureStep();
      noteShards(step, axis);
      if (axis == 0)
        writeSumsAsLoops(step);
    }
    for (unsigned i = 0; i < step.getNumArguments(); ++i) {
      NamedAttrList facts(step.getArgAttrDict(i));
      eraseOwnSplit(facts);
      step.setArgAttrs(i, facts);
    }
    return placeOnGrid(step, sizes, cuts);
  }

  LogicalResult checkWays() {
    int64_t all = grid.empty() ? int64_t(ways) : 1;
    bool isGood = grid.empty() || grid.size() == 2;
    for (int64_t count : grid) {
      isGood &= count > 1 && count <= kMostWays;
      all *= isGood ? count : 1;
    }
    for (int64_t count : stages) {
      all = std::max(all, count);
      if (!grid.empty())
        return emitError(placeOfStep(getOperation()))
               << "the shards of a stage form one axis, not a grid; leave out "
               << "'grid' or 'stages'";
      if (count < 1)
        return emitError(placeOfStep(getOperation()))
               << "each stage has at least one shard, got " << count;
    }
    Location loc = placeOfStep(getOperation());
    if (!isGood)
      return emitError(loc) << "a grid of shards has two axes, each of 2 to "
                            << kMostWays << " shards";
    if (all < 1 || all > kMostWays)
      return emitError(loc)
             << (grid.empty() ? "ways" : "shards of a grid")
             << " must be from 1 to " << kMostWays << ", got " << all;
    return success();
  }

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
        *found ? Result<Cluster>(std::move(**found)) : localCluster(shards);
    Result<ShardRates> rates =
        devices ? ratesOf(*devices, shards) : devices.error();
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
           << "used there has a dimension with at least " << shards
           << " elements, or with at least " << shards << " groups of elements "
           << "such as heads, that can be split beside what is split already";
  }

  /// Chooses how open parameters are split, and reports it in a remark.
  LogicalResult chooseOpen(func::FuncOp step, const StepGraph &graph,
                           const StepAnnotations &annotations, ShardAxis axis,
                           HintedLayouts &hinted) {
    auto isSplit = [](Layout layout) { return layout.isSplit(); };
    auto groups = openParameters(graph, annotations, shards, hinted);
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
          choice = chooseLayouts(graph, shards, *rates, group.arguments,
                                 hinted.layouts);
        if (failed(checkSplit(step, group, hinted.layouts)))
          return failure();
      }
      if (llvm::none_of(hinted.layouts, isSplit))
        return emitError(step.getLoc())
               << "no parameter can be split over " << shards
               << " shards: none has a dimension with at least " << shards
               << " elements, or with at least " << shards
               << " groups of elements such as heads";
      auto percent = [&](double seconds) {
        return std::lround(100 * seconds / std::max(choice.all, 1e-30));
      };
      emitRemark(step.getLoc())
          << "layers are split over " << shards << " shards as by --shard='"
          << writeHints(step, hinted.layouts) << "', which saves each shard "
          << percent(choice.saved) << " % of a microbatch's time and adds "
          << percent(choice.spent) << " % for messages";
      return success();
    }
    if (llvm::any_of(hinted.layouts, isSplit) ||
        llvm::any_of(hinted.batches, isSplit))
      return success();
    const char *why =
        !axis.isOfGrid()
            ? (hints.empty() ? "the step has none"
                             : "all hints say 'whole'; leave them out, or let "
                               "one say 'auto'")
        : hints.empty() ? "the model's own file splits none over it; let "
                          "--shard have an entry for each axis, as */w=0;1"
                        : "neither a hint's entry for it nor the model's own "
                          "file names a dimension; let one do so, as */w=0;1";
    return emitError(step.getLoc())
           << "no parameter is split over the " << axis.text() << ": " << why;
  }

  int64_t shards = 1; ///< Of the axis that is being split.
};

} // namespace
} // namespace stagewright::pipeline
