//===- Shard.cpp - pipeline-shard -----------------------------------------===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Choose.h"
#include "Hints.h"
#include "Sharder.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "stagewright/Analysis/ClusterData.h"
#include "stagewright/Dialect/Pipeline/IR/Pipeline.h"
#include "stagewright/Dialect/Pipeline/Transforms/EnsureGraph.h"
#include "stagewright/Dialect/Pipeline/Transforms/Passes.h"
#include <map>

using namespace mlir;

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
    auto found = ensureStep(module, [&](OpPassManager &manager) {
      return runPipeline(manager, module);
    });
    if (failed(found))
      return signalPassFailure();
    func::FuncOp step = *found;
    FailureOr<HintedLayouts> hinted = readLayouts(step, hints, ways);
    if (failed(hinted))
      return signalPassFailure();
    FailureOr<StepGraph> graph = StepGraph::create(step);
    if (failed(graph) || failed(chooseOpen(step, *graph, *hinted)))
      return signalPassFailure();
    std::map<int64_t, Layout> byPosition;
    for (auto [i, layout] : llvm::enumerate(hinted->layouts))
      byPosition[step.getArgAttrOfType<IntegerAttr>(unsigned(i),
                                                    PipelineDialect::kPosition)
                     .getInt()] = layout;
    split(step, &*graph, hinted->layouts);
    if (auto update = module.lookupSymbol<func::FuncOp>("update"))
      splitUpdate(update, byPosition);
  }

private:
  static constexpr int64_t kMostWays = 1024;

  /// The devices of shards: of the cluster, else of this host.
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

  /// Chooses how open parameters are split, and says it.
  LogicalResult chooseOpen(func::FuncOp step, const StepGraph &graph,
                           HintedLayouts &hinted) {
    auto isSplit = [](Layout layout) { return layout.isSplit(); };
    if (!hinted.open.empty()) {
      FailureOr<ShardRates> rates = readRates();
      if (failed(rates))
        return failure();
      ShardChoice choice =
          chooseLayouts(graph, ways, *rates, hinted.open, hinted.layouts);
      if (llvm::none_of(hinted.layouts, isSplit))
        return emitError(step.getLoc())
               << "no parameter can be split over " << ways.getValue()
               << " shards: none has a dimension, or heads or the like in one, "
               << "that " << ways.getValue() << " divides";
      auto percent = [&](double seconds) {
        return std::lround(100 * seconds / std::max(choice.all, 1e-30));
      };
      emitRemark(step.getLoc())
          << "layers are split over " << ways.getValue()
          << " shards as by --shard='" << writeHints(step, hinted.layouts)
          << "', which takes " << percent(choice.saved)
          << " % of a microbatch's time off each and "
          << "adds " << percent(choice.spent) << " % for messages";
      return success();
    }
    if (llvm::any_of(hinted.layouts, isSplit))
      return success();
    return emitError(step.getLoc())
           << "no parameter is split over the " << ways.getValue()
           << " shards, as all "
           << "hints say 'whole'; leave them out, or let one say 'auto'";
  }

  /// The optimizer's parameters and gradients are split as the step's are, and
  /// state as what replaces it is.
  void splitUpdate(func::FuncOp update,
                   const std::map<int64_t, Layout> &ofStep) {
    SmallVector<Layout> layouts(update.getNumArguments());
    for (unsigned i = 0; i < update.getNumArguments(); ++i)
      if (auto of =
              update.getArgAttrOfType<IntegerAttr>(i, PipelineDialect::kOf))
        if (auto found = ofStep.find(of.getInt()); found != ofStep.end())
          layouts[i] = found->second;
    Operation *end = update.getBody().front().getTerminator();
    for (bool changed = true; changed;) {
      OpBuilder builder(&getContext());
      OwningOpRef<func::FuncOp> trial = func::FuncOp::create(
          update.getLoc(), "trial",
          builder.getFunctionType(TypeRange(), TypeRange()));
      builder.setInsertionPointToStart(trial->addEntryBlock());
      Sharder sharder(nullptr, ways, /*scatters=*/false, builder);
      addArguments(update, layouts, trial->front(), sharder);
      sharder.copy(update.getBody().front());
      changed = false;
      for (unsigned i = 0; i < update.getNumResults(); ++i) {
        auto of =
            update.getResultAttrOfType<IntegerAttr>(i, PipelineDialect::kOf);
        Layout made = sharder.layoutOf(end->getOperand(i));
        bool isNew =
            of && made.isSplit() && layouts[of.getInt()].kind == Layout::Whole;
        if (isNew)
          layouts[of.getInt()] = made;
        changed |= isNew;
      }
    }
    split(update, nullptr, layouts);
  }

  /// Arguments for `block`; of each of `function`, the first.
  SmallVector<int64_t> addArguments(func::FuncOp function,
                                    ArrayRef<Layout> layouts, Block &block,
                                    Sharder &sharder) {
    SmallVector<int64_t> firsts;
    for (auto [argument, layout] :
         llvm::zip_equal(function.getArguments(), layouts)) {
      firsts.push_back(int64_t(block.getNumArguments()));
      Type type = argument.getType();
      if (layout.isSplit())
        type = localType(cast<RankedTensorType>(type), layout, ways);
      SmallVector<Value> parts;
      for (int64_t part = 0; part < partsOf(layout); ++part)
        parts.push_back(block.addArgument(type, argument.getLoc()));
      if (layout.isSplit())
        sharder.setArgument(argument, layout, parts);
      else
        sharder.setArgument(argument, parts[0]);
    }
    return firsts;
  }

  int64_t partsOf(Layout layout) const { return layout.isSplit() ? ways : 1; }

  /// Replaces `function` by one that does the work of every shard.
  void split(func::FuncOp function, const StepGraph *graph,
             ArrayRef<Layout> layouts) {
    OpBuilder builder(function);
    auto made =
        func::FuncOp::create(builder, function.getLoc(), function.getName(),
                             builder.getFunctionType(TypeRange(), TypeRange()));
    made->setDiscardableAttrs(function->getDiscardableAttrDictionary());
    made.setVisibility(function.getVisibility());
    Block *block = made.addEntryBlock();
    builder.setInsertionPointToStart(block);
    Sharder sharder(graph, ways, scatters, builder);
    SmallVector<int64_t> firsts =
        addArguments(function, layouts, *block, sharder);
    sharder.copy(function.getBody().front());

    SmallVector<Attribute> facts, resultFacts;
    for (auto [i, layout] : llvm::enumerate(layouts)) {
      for (int64_t part = 0; part < partsOf(layout); ++part)
        facts.push_back(
            partAttributes(function.getArgAttrDict(unsigned(i)), layout, part));
      numSplit += graph && layout.isSplit();
    }
    SmallVector<Value> results;
    Operation *end = function.getBody().front().getTerminator();
    for (unsigned i = 0; i < function.getNumResults(); ++i) {
      Layout layout;
      auto of =
          function.getResultAttrOfType<IntegerAttr>(i, PipelineDialect::kOf);
      if (of)
        layout = layouts[of.getInt()];
      for (int64_t part = 0; part < partsOf(layout); ++part) {
        // The last shard gives what is whole: its stage is the last one.
        results.push_back(sharder.in(end->getOperand(i), layout,
                                     layout.isSplit() ? part : ways - 1));
        NamedAttrList own(
            partAttributes(function.getResultAttrDict(i), layout, part));
        if (of)
          own.set(PipelineDialect::kOf,
                  builder.getI64IntegerAttr(firsts[of.getInt()] + part));
        resultFacts.push_back(own.getDictionary(&getContext()));
      }
    }
    func::ReturnOp::create(builder, end->getLoc(), results);
    made.setFunctionType(builder.getFunctionType(
        block->getArgumentTypes(), TypeRange(ValueRange(results))));
    made.setArgAttrsAttr(builder.getArrayAttr(facts));
    made.setResAttrsAttr(builder.getArrayAttr(resultFacts));
    function.erase();
    // What only another shard's results need.
    for (Operation &op : llvm::make_early_inc_range(llvm::reverse(*block)))
      if (isOpTriviallyDead(&op))
        op.erase();
    settle(made);
    numSums += sharder.numSums;
    numScatters += sharder.numScatters;
    numExchanges += sharder.numExchanges;
    numJoins += sharder.numJoins;
  }

  /// Attributes of an argument or result for one part of it.
  DictionaryAttr partAttributes(DictionaryAttr whole, Layout layout,
                                int64_t part) {
    if (!whole)
      whole = DictionaryAttr::get(&getContext());
    NamedAttrList list(whole);
    list.erase(PipelineDialect::kSplitDim);
    if (!layout.isSplit())
      return list.getDictionary(&getContext());
    Builder builder(&getContext());
    list.erase(PipelineDialect::kSlices);
    list.set(PipelineDialect::kSlice, builder.getI64IntegerAttr(part));
    list.set(PipelineDialect::kSliceDim, builder.getI64IntegerAttr(layout.dim));
    list.set(PipelineDialect::kSliceOuter,
             builder.getI64IntegerAttr(layout.outer));
    return list.getDictionary(&getContext());
  }
};

} // namespace
} // namespace stagewright::pipeline
