//===- SplitSlices.cpp - pipeline-split-slices ----------------------------===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Shard/SplitFunction.h"
#include "SplitHints.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "stagewright/Dialect/Pipeline/Transforms/EnsureGraph.h"
#include "stagewright/Dialect/Pipeline/Transforms/Passes.h"

namespace stagewright::pipeline {
#define GEN_PASS_DEF_SPLITSLICES
#include "stagewright/Dialect/Pipeline/Transforms/Passes.h.inc"

/// The row, along dimension 0 of a tensor of `shape`, that is exactly what
/// static offsets, sizes and strides select; -1 if they select anything else.
static int64_t selectedRow(ArrayRef<int64_t> shape, ArrayRef<int64_t> offsets,
                           ArrayRef<int64_t> sizes, ArrayRef<int64_t> strides) {
  if (offsets.empty() || ShapedType::isDynamic(offsets[0]) || sizes[0] != 1)
    return -1;
  for (size_t dim = 0; dim < shape.size(); ++dim)
    if (strides[dim] != 1 ||
        (dim > 0 && (offsets[dim] != 0 || sizes[dim] != shape[dim])))
      return -1;
  return offsets[0] >= 0 && offsets[0] < shape[0] ? offsets[0] : -1;
}

/// The source of `row` if that is a copy with a leading dimension of size 1
/// added; else null.
static Value copiedRow(Value row) {
  auto copy = row.getDefiningOp<linalg::GenericOp>();
  if (!copy || copy.getNumDpsInputs() != 1 || copy.getNumDpsInits() != 1 ||
      copy.getNumReductionLoops() != 0)
    return {};
  Block *body = copy.getBlock();
  unsigned loops = copy.getNumLoops();
  AffineMap rest =
      AffineMap::getMultiDimIdentityMap(loops, copy.getContext()).dropResult(0);
  SmallVector<AffineMap> maps = copy.getIndexingMapsArray();
  bool isCopy = body->getTerminator()->getOperand(0) == body->getArgument(0) &&
                maps[0] == rest && maps[1].isIdentity();
  return isCopy ? copy.getDpsInputs()[0] : Value();
}

namespace {
/// How one stacked parameter is used: found before anything is changed.
struct Stack {
  unsigned argument;
  int64_t rows, rank;
  SmallVector<tensor::ExtractSliceOp> reads;
  int64_t result = -1;        // number of the gradient, -1 for none
  SmallVector<Value> written; // the gradient's rows
};

struct SplitSlicesPass : impl::SplitSlicesBase<SplitSlicesPass> {
  using SplitSlicesBase::SplitSlicesBase;

  void runOnOperation() override {
    ModuleOp module = getOperation();
    if (!module.getOps<GraphOp>().empty())
      return;
    step = findAnnotatedStep(module);
    if (!step) {
      if (failed(run(createInferRoles())))
        return signalPassFailure();
      step = findAnnotatedStep(module);
    }
    SmallVector<Stack> stacks = findStacks();
    if (stacks.empty())
      return;
    // Layouts by number of rows, then by position in the step.
    std::map<int64_t, LayoutsByPosition> ofStep;
    for (const Stack &stack : stacks) {
      auto position = step.getArgAttrOfType<IntegerAttr>(
          stack.argument, PipelineDialect::kPosition);
      ofStep[stack.rows][{position ? position.getInt() : stack.argument, -1}] =
          Layout::split(0);
    }
    if (failed(splitArguments(stacks)))
      return signalPassFailure();
    splitResults(stacks);
    // Split the optimizer too: its rows belong to the stages of their layers.
    for (const auto &[rows, layouts] : ofStep)
      if (auto update = module.lookupSymbol<func::FuncOp>("update"))
        FunctionSplitter{.ways = rows, .rows = true}.splitUpdate(update,
                                                                 layouts);
  }

private:
  SmallVector<Stack> findStacks() {
    SmallVector<Stack> stacks;
    for (unsigned i = 0; i < step.getNumArguments(); ++i) {
      auto slices =
          step.getArgAttrOfType<IntegerAttr>(i, PipelineDialect::kSlices);
      if (!slices || step.getArgAttr(i, PipelineDialect::kSlice))
        continue;
      Stack stack{i,
                  slices.getInt(),
                  cast<RankedTensorType>(step.getArgumentTypes()[i]).getRank(),
                  {},
                  -1,
                  {}};
      if (std::string why = analyse(stack); !why.empty()) {
        ++numWhole;
        auto name =
            step.getArgAttrOfType<StringAttr>(i, PipelineDialect::kName);
        emitRemark(step.getLoc())
            << "parameter '" << (name ? name.getValue() : StringRef())
            << "' (argument " << i << ") stays whole: " << why;
        continue;
      }
      ++numSplit;
      stacks.push_back(std::move(stack));
    }
    return stacks;
  }

  /// Fills `stack`; returns the reason if it cannot be split.
  std::string analyse(Stack &stack) {
    Value argument = step.getArgument(stack.argument);
    auto type = cast<RankedTensorType>(argument.getType());
    for (Operation *user : argument.getUsers()) {
      auto read = dyn_cast<tensor::ExtractSliceOp>(user);
      if (!read ||
          selectedRow(type.getShape(), read.getStaticOffsets(),
                      read.getStaticSizes(), read.getStaticStrides()) < 0)
        return ("it is read by '" + user->getName().getStringRef() +
                "', not row by row")
            .str();
      if (read.getType() != rowType(type))
        return "a read keeps dimension 0";
      stack.reads.push_back(read);
    }
    for (unsigned i = 0; i < step.getNumResults(); ++i)
      if (auto of =
              step.getResultAttrOfType<IntegerAttr>(i, PipelineDialect::kOf))
        if (of.getInt() == stack.argument)
          stack.result = i;
    if (stack.result < 0)
      return {};
    Value gradient =
        step.getBody().front().getTerminator()->getOperand(stack.result);
    stack.written.assign(stack.rows, Value());
    while (auto write = gradient.getDefiningOp<tensor::InsertSliceOp>()) {
      int64_t row =
          selectedRow(cast<RankedTensorType>(gradient.getType()).getShape(),
                      write.getStaticOffsets(), write.getStaticSizes(),
                      write.getStaticStrides());
      if (row < 0 || !gradient.hasOneUse())
        break;
      // Writes are visited last to first, and the last write of a row counts.
      if (!stack.written[row])
        stack.written[row] = write.getSource();
      gradient = write.getDest();
    }
    if (llvm::is_contained(stack.written, Value()))
      return "its gradient is not written row by row";
    return {};
  }

  /// Replaces each stack by arguments for its rows, and renumbers the arguments
  /// to which results refer.
  LogicalResult splitArguments(ArrayRef<Stack> stacks) {
    Builder builder(&getContext());
    llvm::SmallDenseMap<unsigned, const Stack *> byArgument;
    for (const Stack &stack : stacks)
      byArgument[stack.argument] = &stack;
    // Old number to first new number.
    SmallVector<int64_t> moved;
    SmallVector<unsigned> places;
    SmallVector<Type> types;
    SmallVector<DictionaryAttr> attributes;
    SmallVector<Location> locations;
    int64_t next = 0;
    for (unsigned i = 0; i < step.getNumArguments(); ++i) {
      moved.push_back(next);
      const Stack *stack = byArgument.lookup(i);
      next += stack ? stack->rows : 1;
      for (int64_t row = 0; stack && row < stack->rows; ++row) {
        places.push_back(i);
        types.push_back(
            rowType(cast<RankedTensorType>(step.getArgumentTypes()[i])));
        attributes.push_back(rowAttributes(step.getArgAttrDict(i), row));
        locations.push_back(step.getArgument(i).getLoc());
      }
    }
    if (failed(step.insertArguments(places, types, attributes, locations)))
      return failure();
    // Rows were inserted before the whole argument, so the whole follows its
    // rows.
    llvm::BitVector whole(step.getNumArguments());
    int64_t behind = 0;
    for (unsigned i = 0; i < moved.size(); ++i) {
      const Stack *stack = byArgument.lookup(i);
      if (!stack)
        continue;
      int64_t first = moved[i] + behind++;
      for (tensor::ExtractSliceOp read : stack->reads) {
        read.replaceAllUsesWith(
            Value(step.getArgument(first + read.getStaticOffsets()[0])));
        read.erase();
      }
      whole.set(first + stack->rows);
    }
    for (unsigned i = 0; i < step.getNumResults(); ++i)
      if (auto of =
              step.getResultAttrOfType<IntegerAttr>(i, PipelineDialect::kOf))
        step.setResultAttr(i, PipelineDialect::kOf,
                           builder.getI64IntegerAttr(moved[of.getInt()]));
    return step.eraseArguments(whole);
  }

  void splitResults(ArrayRef<Stack> stacks) {
    Builder builder(&getContext());
    llvm::SmallDenseMap<unsigned, const Stack *> byResult;
    for (const Stack &stack : stacks)
      if (stack.result >= 0)
        byResult[stack.result] = &stack;
    SmallVector<Type> types;
    SmallVector<Attribute> attributes;
    SmallVector<Value> values;
    Operation *terminator = step.getBody().front().getTerminator();
    for (unsigned i = 0; i < step.getNumResults(); ++i) {
      DictionaryAttr old = step.getResultAttrDict(i);
      if (!old)
        old = builder.getDictionaryAttr({});
      const Stack *stack = byResult.lookup(i);
      if (!stack) {
        types.push_back(step.getResultTypes()[i]);
        attributes.push_back(old);
        values.push_back(terminator->getOperand(i));
        continue;
      }
      int64_t of = cast<IntegerAttr>(old.get(PipelineDialect::kOf)).getInt();
      for (int64_t row = 0; row < stack->rows; ++row) {
        NamedAttrList list(rowAttributes(old, row));
        list.set(PipelineDialect::kOf, builder.getI64IntegerAttr(of + row));
        Value value = dropRow(stack->written[row], stack->rank);
        types.push_back(value.getType());
        attributes.push_back(list.getDictionary(&getContext()));
        values.push_back(value);
      }
    }
    terminator->setOperands(values);
    step.setFunctionType(
        FunctionType::get(&getContext(), step.getArgumentTypes(), types));
    step.setResAttrsAttr(builder.getArrayAttr(attributes));
  }

  /// `row` without its leading dimension of size 1, which it has if its rank is
  /// at least `rank`, that of the stack.
  Value dropRow(Value row, int64_t rank) {
    auto type = cast<RankedTensorType>(row.getType());
    if (type.getRank() < rank)
      return row;
    if (Value source = copiedRow(row))
      return source;
    OpBuilder builder(step.getBody().front().getTerminator());
    return tensor::CollapseShapeOp::create(builder, row.getLoc(), rowType(type),
                                           row, rowGroups(rank));
  }

  /// Attributes of one row: those of the stack, with the row's number instead
  /// of the number of rows.
  DictionaryAttr rowAttributes(DictionaryAttr whole, int64_t row) {
    NamedAttrList list(whole);
    list.erase(PipelineDialect::kSlices);
    Builder builder(&getContext());
    // Rows lack dimension 0; a split along it is left to the planner.
    Attribute split = list.get(PipelineDialect::kSplitDim);
    auto dim = llvm::dyn_cast_or_null<IntegerAttr>(split);
    SmallVector<int64_t> dims;
    if (auto each = llvm::dyn_cast_or_null<DenseI64ArrayAttr>(split))
      for (int64_t own : each.asArrayRef())
        dims.push_back(std::max<int64_t>(own, 0) - 1);
    if (dim && dim.getInt() > 0)
      list.set(PipelineDialect::kSplitDim,
               builder.getI64IntegerAttr(dim.getInt() - 1));
    else if (llvm::any_of(dims, [](int64_t own) { return own >= 0; }))
      list.set(PipelineDialect::kSplitDim, builder.getDenseI64ArrayAttr(dims));
    else
      eraseOwnSplit(list);
    list.set(PipelineDialect::kSlice, builder.getI64IntegerAttr(row));
    return list.getDictionary(&getContext());
  }

  func::FuncOp step;
};
} // namespace
} // namespace stagewright::pipeline
