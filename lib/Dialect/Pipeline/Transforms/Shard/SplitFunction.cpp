//===- SplitFunction.cpp - one function for all shards --------------------===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "SplitFunction.h"
#include "../SplitHints.h"
#include "stagewright/Dialect/Pipeline/IR/Pipeline.h"

namespace stagewright::pipeline {

RankedTensorType rowType(RankedTensorType type) {
  return RankedTensorType::get(type.getShape().drop_front(),
                               type.getElementType());
}

SmallVector<ReassociationIndices> rowGroups(int64_t rank) {
  SmallVector<ReassociationIndices> groups;
  for (int64_t dim = 1; dim < rank; ++dim)
    groups.push_back(dim == 1 ? ReassociationIndices{0, 1}
                              : ReassociationIndices{dim});
  return groups;
}

/// Adds the arguments of `function`, some of them in parts, to the block that
/// `builder` is in; unless `shared` is empty, the shards take their parts of
/// whole arguments as it says. Returns the index of the first part of each
/// argument.
SmallVector<int64_t> FunctionSplitter::addArguments(
    func::FuncOp function, ArrayRef<Layout> layouts, ArrayRef<Layout> shared,
    ArrayRef<int> ofArgument, OpBuilder &builder, Sharder &sharder) const {
  SmallVector<int64_t> firsts;
  Block &block = *builder.getInsertionBlock();
  for (auto [argument, layout] :
       llvm::zip_equal(function.getArguments(), layouts)) {
    firsts.push_back(int64_t(block.getNumArguments()));
    Location loc = argument.getLoc();
    int stage = ofArgument.empty() ? 0 : ofArgument[argument.getArgNumber()];
    if (!layout.isSplit()) {
      Value whole = block.addArgument(argument.getType(), loc);
      sharder.enterStage(0);
      sharder.setArgument(argument, whole);
      if (stages)
        sharder.setStageOf(argument, StageShards::kAny);
      if (unsigned i = argument.getArgNumber();
          !shared.empty() && shared[i].isSplit())
        sharder.share(argument, whole, shared[i]);
      continue;
    }
    SmallVector<Value> parts;
    int64_t count = waysOf(stage);
    for (int64_t part = 0; part < count; ++part) {
      RankedTensorType type = localType(
          cast<RankedTensorType>(argument.getType()), layout, count, part);
      parts.push_back(block.addArgument(rows ? rowType(type) : type, loc));
      if (rows)
        parts.back() = tensor::ExpandShapeOp::create(
            builder, loc, type, parts.back(), rowGroups(type.getRank()));
    }
    sharder.setArgument(argument, layout, parts, stage);
  }
  return firsts;
}

/// Adds to the facts of a slice that it is split as `layout` over an axis of a
/// grid, of `ways` devices. `isRow`: it was a slice before, which is a row of a
/// stack unless it has an axis already.
static void addAxis(Builder &builder, NamedAttrList &facts, Layout layout,
                    int64_t ways, bool isRow) {
  auto append = [&](StringRef name, int64_t value) {
    SmallVector<int64_t> list;
    if (auto before =
            llvm::dyn_cast_or_null<DenseI64ArrayAttr>(facts.get(name)))
      list.append(before.asArrayRef().begin(), before.asArrayRef().end());
    list.push_back(value);
    facts.set(name, builder.getDenseI64ArrayAttr(list));
  };
  auto parts = llvm::dyn_cast_or_null<IntegerAttr>(
      facts.get(PipelineDialect::kSliceParts));
  isRow &= !facts.get(PipelineDialect::kSliceWays);
  if (isRow || parts)
    facts.set(PipelineDialect::kSliceParts,
              builder.getI64IntegerAttr(ways * (parts ? parts.getInt() : 1)));
  append(PipelineDialect::kSliceWays, ways);
  append(PipelineDialect::kSliceDim, layout.dim);
  append(PipelineDialect::kSliceOuter, layout.outer);
  append(PipelineDialect::kSliceUnit, layout.unit);
}

/// Attributes of part `part` of an argument or result with attributes `whole`.
DictionaryAttr FunctionSplitter::partAttributes(MLIRContext *context,
                                                DictionaryAttr whole,
                                                Layout layout, int64_t part,
                                                int64_t count) const {
  Builder builder(context);
  NamedAttrList list(whole ? whole : builder.getDictionaryAttr({}));
  if (!rows && !isOfGrid) // On a grid, the other axis may still need it.
    eraseOwnSplit(list);
  if (!layout.isSplit())
    return list.getDictionary(context);
  list.erase(PipelineDialect::kSlices);
  auto row =
      llvm::dyn_cast_or_null<IntegerAttr>(list.get(PipelineDialect::kSlice));
  list.set(PipelineDialect::kSlice,
           builder.getI64IntegerAttr(row ? row.getInt() * count + part : part));
  if (rows)
    return list.getDictionary(context);
  if (isOfGrid) {
    addAxis(builder, list, layout, count, /*isRow=*/bool(row));
    return list.getDictionary(context);
  }
  if (row)
    list.set(PipelineDialect::kSliceParts, builder.getI64IntegerAttr(count));
  list.set(PipelineDialect::kSliceDim, builder.getI64IntegerAttr(layout.dim));
  list.set(PipelineDialect::kSliceOuter,
           builder.getI64IntegerAttr(layout.outer));
  if (layout.unit != 1)
    list.set(PipelineDialect::kSliceUnit,
             builder.getI64IntegerAttr(layout.unit));
  return list.getDictionary(context);
}

/// The layout of the parameter whose gradient or new value result `number` is;
/// whole if it is neither.
static Layout layoutOfResult(func::FuncOp function, unsigned number,
                             ArrayRef<Layout> layouts) {
  auto of =
      function.getResultAttrOfType<IntegerAttr>(number, PipelineDialect::kOf);
  return of ? layouts[of.getInt()] : Layout();
}

/// Enters the stage whose shards return result `number`, in `layout`.
static int enterStageOfResult(func::FuncOp function, unsigned number,
                              Layout layout, ArrayRef<int> ofArgument,
                              Sharder &sharder) {
  auto of =
      function.getResultAttrOfType<IntegerAttr>(number, PipelineDialect::kOf);
  Value result = function.getBody().front().getTerminator()->getOperand(number);
  int stage = !layout.isSplit()    ? sharder.stageOf(result)
              : ofArgument.empty() ? 0
                                   : ofArgument[size_t(of.getInt())];
  sharder.enterStage(stage);
  return stage;
}

/// A function without a module, with `builder` in its empty body.
static OwningOpRef<func::FuncOp> makeTrial(Location loc, OpBuilder &builder) {
  OwningOpRef<func::FuncOp> trial = func::FuncOp::create(
      loc, "trial", builder.getFunctionType(TypeRange(), TypeRange()));
  builder.setInsertionPointToStart(trial->addEntryBlock());
  return trial;
}

SmallVector<int64_t>
FunctionSplitter::copyBody(func::FuncOp function, ArrayRef<Layout> layouts,
                           ArrayRef<Layout> shared, ArrayRef<int> ofArgument,
                           bool addsPartial, OpBuilder &builder,
                           Sharder &sharder) const {
  Block &body = function.getBody().front();
  SmallVector<int64_t> firsts =
      addArguments(function, layouts, shared, ofArgument, builder, sharder);
  for (OpOperand &result : body.getTerminator()->getOpOperands())
    if (auto of = function.getResultAttrOfType<IntegerAttr>(
            result.getOperandNumber(), PipelineDialect::kOf))
      sharder.setGradient(result.get(),
                          function.getArgument(unsigned(of.getInt())));
  sharder.copy(body, addsPartial);
  return firsts;
}

bool FunctionSplitter::sendsLessIfPartial(func::FuncOp step,
                                          const StepGraph &graph,
                                          ArrayRef<Layout> layouts,
                                          ArrayRef<int> ofArgument) const {
  Block &body = step.getBody().front();
  if (SumTrees(body).rootOf.empty())
    return false;
  int64_t bytes[2];
  for (bool addsPartial : {false, true}) {
    OpBuilder builder(step.getContext());
    OwningOpRef<func::FuncOp> trial = makeTrial(step.getLoc(), builder);
    Sharder sharder(&graph, ways, scatters, cuts, builder);
    sharder.setStages(stages);
    copyBody(step, layouts, batches, ofArgument, addsPartial, builder, sharder);
    for (unsigned i = 0; i < step.getNumResults(); ++i) {
      Layout layout = layoutOfResult(step, i, layouts);
      int stage = enterStageOfResult(step, i, layout, ofArgument, sharder);
      sharder.in(body.getTerminator()->getOperand(i), layout,
                 waysOf(stage) - 1);
    }
    bytes[addsPartial] = sharder.boxes.bytes;
  }
  return bytes[true] < bytes[false];
}

Boxes FunctionSplitter::split(func::FuncOp function, const StepGraph *graph,
                              ArrayRef<Layout> layouts) const {
  SmallVector<int> ofArgument;
  if (stages)
    for (unsigned i = 0; i < function.getNumArguments(); ++i)
      ofArgument.push_back(stages->stageOf(i));
  return split(function, graph, layouts, ofArgument);
}

Boxes FunctionSplitter::split(func::FuncOp function, const StepGraph *graph,
                              ArrayRef<Layout> layouts,
                              ArrayRef<int> ofArgument) const {
  bool addsPartial =
      graph && sendsLessIfPartial(function, *graph, layouts, ofArgument);
  OpBuilder builder(function);
  MLIRContext *context = function.getContext();
  auto made =
      func::FuncOp::create(builder, function.getLoc(), function.getName(),
                           builder.getFunctionType(TypeRange(), TypeRange()));
  made->setDiscardableAttrs(function->getDiscardableAttrDictionary());
  made.setVisibility(function.getVisibility());
  Block *block = made.addEntryBlock();
  builder.setInsertionPointToStart(block);
  Sharder sharder(graph, ways, scatters, cuts, builder);
  sharder.trace(trace);
  sharder.setStages(stages);
  SmallVector<int64_t> firsts =
      copyBody(function, layouts, graph ? batches : ArrayRef<Layout>(),
               ofArgument, addsPartial, builder, sharder);

  auto stageOf = [&](int64_t argument) {
    return ofArgument.empty() ? 0 : ofArgument[size_t(argument)];
  };
  SmallVector<Attribute> facts, resultFacts;
  for (auto [i, layout] : llvm::enumerate(layouts))
    for (int64_t part = 0, count = partsOf(layout, stageOf(int64_t(i)));
         part < count; ++part)
      facts.push_back(partAttributes(
          context, function.getArgAttrDict(unsigned(i)), layout, part, count));
  SmallVector<Value> results;
  Operation *end = function.getBody().front().getTerminator();
  for (unsigned i = 0; i < function.getNumResults(); ++i) {
    Layout layout = layoutOfResult(function, i, layouts);
    auto of =
        function.getResultAttrOfType<IntegerAttr>(i, PipelineDialect::kOf);
    int stage = enterStageOfResult(function, i, layout, ofArgument, sharder);
    int64_t count = partsOf(layout, stage);
    for (int64_t part = 0; part < count; ++part) {
      // The last shard returns unsplit results: of the stages of the program,
      // its stage is the last one.
      Value value = sharder.in(end->getOperand(i), layout,
                               layout.isSplit() ? part : waysOf(stage) - 1);
      if (rows && layout.isSplit()) {
        auto type = cast<RankedTensorType>(value.getType());
        value = tensor::CollapseShapeOp::create(builder, end->getLoc(),
                                                rowType(type), value,
                                                rowGroups(type.getRank()));
      }
      results.push_back(value);
      NamedAttrList own(partAttributes(context, function.getResultAttrDict(i),
                                       layout, part, count));
      if (of)
        own.set(PipelineDialect::kOf,
                builder.getI64IntegerAttr(firsts[of.getInt()] + part));
      resultFacts.push_back(own.getDictionary(context));
    }
  }
  func::ReturnOp::create(builder, end->getLoc(), results);
  made.setFunctionType(builder.getFunctionType(block->getArgumentTypes(),
                                               TypeRange(ValueRange(results))));
  made.setArgAttrsAttr(builder.getArrayAttr(facts));
  made.setResAttrsAttr(builder.getArrayAttr(resultFacts));
  function.erase();
  // Drop the copies of operations in other shards that no result needs.
  for (Operation &op : llvm::make_early_inc_range(llvm::reverse(*block)))
    if (isOpTriviallyDead(&op))
      op.erase();
  if (graph && cuts)
    moveAcrossCuts(made);
  else if (graph && stages)
    sortForward(made);
  if (graph)
    settle(made);
  return sharder.boxes;
}

int64_t sliceOf(func::FuncOp function, unsigned number) {
  auto slice =
      function.getArgAttrOfType<IntegerAttr>(number, PipelineDialect::kSlice);
  return slice ? slice.getInt() : -1;
}

Boxes FunctionSplitter::splitUpdate(func::FuncOp update,
                                    const LayoutsByPosition &ofStep,
                                    const StagesByPosition &stageOf) const {
  SmallVector<Layout> layouts(update.getNumArguments());
  SmallVector<int> ofArgument(update.getNumArguments());
  for (unsigned i = 0; i < update.getNumArguments(); ++i) {
    auto of = update.getArgAttrOfType<IntegerAttr>(i, PipelineDialect::kOf);
    if (!of)
      continue;
    std::pair<int64_t, int64_t> position(of.getInt(), sliceOf(update, i));
    if (auto found = ofStep.find(position); found != ofStep.end())
      layouts[i] = found->second;
    if (auto found = stageOf.find(position); found != stageOf.end())
      ofArgument[i] = found->second;
  }
  Operation *end = update.getBody().front().getTerminator();
  for (bool changed = true; changed;) {
    OpBuilder builder(update.getContext());
    OwningOpRef<func::FuncOp> trial = makeTrial(update.getLoc(), builder);
    Sharder sharder(nullptr, ways, /*scatters=*/false, /*cuts=*/false, builder);
    sharder.setStages(stages);
    addArguments(update, layouts, {}, ofArgument, builder, sharder);
    sharder.copy(update.getBody().front());
    changed = false;
    for (unsigned i = 0; i < update.getNumResults(); ++i) {
      auto of =
          update.getResultAttrOfType<IntegerAttr>(i, PipelineDialect::kOf);
      int stage = sharder.stageOf(end->getOperand(i));
      sharder.enterStage(stage);
      Layout made = sharder.layoutOf(end->getOperand(i));
      bool isNew =
          of && made.isSplit() && layouts[of.getInt()].kind == Layout::Whole;
      if (isNew) {
        layouts[of.getInt()] = made;
        ofArgument[size_t(of.getInt())] = stage;
      }
      changed |= isNew;
    }
  }
  return split(update, nullptr, layouts, ofArgument);
}

} // namespace stagewright::pipeline
