//===- TakeRows.cpp - a body for a slice of the samples -------------------===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Operations are copied one by one, with types of the size of the slice. Where
// a row index indexes a sliced value, it stays relative to the slice. All other
// uses get the index among all rows: the slice's first row is added.
//
//===----------------------------------------------------------------------===//

#include "TakeRows.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/IRMapping.h"

namespace stagewright::pipeline {

Type typeFor(Type type, RowKind kind, Samples samples) {
  auto tensor = dyn_cast<RankedTensorType>(type);
  if (!tensor || !kind.isRows())
    return type;
  SmallVector<int64_t> shape(tensor.getShape());
  shape[kind.dim] = samples.count * kind.perSample;
  return tensor.clone(shape);
}

namespace {
/// Offsets, sizes and strides of the rows of samples `rows` in a tensor that
/// has the rows of samples `from`.
struct Place {
  Place(OpBuilder &builder, RankedTensorType part, RowKind kind, Samples rows,
        Samples from)
      : offsets(part.getRank(), builder.getIndexAttr(0)),
        strides(part.getRank(), builder.getIndexAttr(1)) {
    for (int64_t size : part.getShape())
      sizes.push_back(builder.getIndexAttr(size));
    offsets[kind.dim] =
        builder.getIndexAttr((rows.first - from.first) * kind.perSample);
  }

  SmallVector<OpFoldResult> offsets, sizes, strides;
};
} // namespace

/// Extracts the rows of samples `part` from `value`, which has the rows of
/// samples `from`.
static Value sliceOf(OpBuilder &builder, Location loc, Value value,
                     RowKind kind, Samples from, Samples part) {
  auto type = cast<RankedTensorType>(value.getType());
  auto result = cast<RankedTensorType>(typeFor(type, kind, part));
  Place place(builder, result, kind, part, from);
  return tensor::ExtractSliceOp::create(
      builder, loc, result, value, place.offsets, place.sizes, place.strides);
}

namespace {
/// Copies the operations of one body.
class Taker {
public:
  Taker(const BodyRows &rows, Samples samples, OpBuilder &builder)
      : rows(rows), samples(samples), builder(builder) {}

  void copy(Block &block);
  IRMapping map;

private:
  void copy(Operation &op);
  Operation *copyWithRegions(Operation &op);
  void moveNumbers(Operation *op);
  void moveNumber(Value number, Value copied, int64_t perSample);
  Value operandFor(OpOperand &operand);

  Type typeOf(Value value) {
    return typeFor(value.getType(), rows.kindOf(value), samples);
  }

  /// Records the copies of `op` and of the operations in its regions.
  void remember(Operation &op, Operation *copied) {
    SmallVector<Operation *> before;
    op.walk([&](Operation *inner) { before.push_back(inner); });
    size_t next = 0;
    copied->walk([&](Operation *inner) { copies[before[next++]] = inner; });
  }

  const BodyRows &rows;
  Samples samples;
  OpBuilder &builder;
  DenseMap<Operation *, Operation *> copies;
};
} // namespace

/// The copy of an operand; its slice if it is a whole value used by rows.
Value Taker::operandFor(OpOperand &operand) {
  Value value = map.lookupOrDefault(operand.get());
  auto wanted = rows.wanted.find(&operand);
  if (wanted == rows.wanted.end() || rows.kindOf(operand.get()).isRows())
    return value;
  return sliceOf(builder, operand.getOwner()->getLoc(), value, wanted->second,
                 Samples{}, samples);
}

/// Replaces `copied`, the index of a row of the slice, by the row's index among
/// all rows in every use that does not index a sliced value.
void Taker::moveNumber(Value number, Value copied, int64_t perSample) {
  if (samples.first == 0)
    return;
  SmallVector<OpOperand *> moved;
  for (OpOperand &use : number.getUses())
    if (!isPositionAmongRows(rows, use))
      moved.push_back(
          &copies.lookup(use.getOwner())->getOpOperand(use.getOperandNumber()));
  if (moved.empty())
    return;
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPointAfterValue(copied);
  Location loc = copied.getLoc();
  Value first =
      arith::ConstantIndexOp::create(builder, loc, samples.first * perSample);
  Value among = arith::AddIOp::create(builder, loc, copied, first);
  for (OpOperand *use : moved)
    use->set(among);
}

/// Applies moveNumber() to the indices of the loop over rows in a structured
/// operation. All other operations of its body are on scalars and need no
/// change.
void Taker::moveNumbers(Operation *op) {
  auto loop = rows.loops.find(op);
  if (loop == rows.loops.end())
    return;
  SmallVector<linalg::IndexOp> numbers;
  op->walk([&](linalg::IndexOp index) {
    if (index.getDim() == loop->second.number &&
        index->getParentOfType<linalg::LinalgOp>() == op)
      numbers.push_back(index);
  });
  for (linalg::IndexOp index : numbers)
    moveNumber(index, copies.lookup(index)->getResult(0),
               loop->second.perSample);
}

Operation *Taker::copyWithRegions(Operation &op) {
  SmallVector<Value> operands;
  for (OpOperand &operand : op.getOpOperands())
    operands.push_back(operandFor(operand));
  SmallVector<Type> types;
  for (Value result : op.getResults())
    types.push_back(typeOf(result));
  auto loop = dyn_cast<scf::ForOp>(op);
  bool overRows = loop && rows.loops.contains(loop);
  if (overRows)
    operands[1] = arith::ConstantIndexOp::create(
        builder, op.getLoc(),
        samples.count * rows.loops.lookup(loop).perSample);
  OperationState state(op.getLoc(), op.getName(), operands, types,
                       op.getAttrs());
  for (unsigned i = 0; i < op.getNumRegions(); ++i)
    state.addRegion();
  Operation *copied = builder.create(state);
  for (auto [from, to] : llvm::zip(op.getRegions(), copied->getRegions())) {
    if (from.empty())
      continue;
    Block &block = to.emplaceBlock();
    for (BlockArgument argument : from.getArguments())
      map.map(argument, block.addArgument(typeOf(argument), argument.getLoc()));
    OpBuilder::InsertionGuard guard(builder);
    builder.setInsertionPointToStart(&block);
    copy(from.front());
    for (Operation &end : from.front())
      if (end.hasTrait<OpTrait::IsTerminator>()) {
        SmallVector<Value> yielded;
        for (OpOperand &operand : end.getOpOperands())
          yielded.push_back(operandFor(operand));
        Operation *copiedEnd = builder.clone(end, map);
        copiedEnd->setOperands(yielded);
        copies[&end] = copiedEnd;
      }
  }
  if (overRows)
    moveNumber(loop.getInductionVar(),
               cast<scf::ForOp>(copied).getInductionVar(),
               rows.loops.lookup(loop).perSample);
  return copied;
}

/// Adapts the sizes that are attributes of `op`.
static void resize(Operation *op, const BodyRows &rows, Operation &original) {
  auto sizesOf = [&](DenseI64ArrayAttr sizes, int64_t dim, int64_t size) {
    SmallVector<int64_t> all(sizes.asArrayRef());
    all[dim] = size;
    return DenseI64ArrayAttr::get(op->getContext(), all);
  };
  if (auto expand = dyn_cast<tensor::ExpandShapeOp>(op)) {
    auto type = cast<RankedTensorType>(expand.getType());
    expand.setStaticOutputShape(type.getShape());
  }
  if (auto slice = dyn_cast<tensor::ExtractSliceOp>(op)) {
    RowKind kind = rows.kindOf(original.getOperand(0));
    // A slice of a single row keeps its size, 1.
    if (kind.isRows() && rows.kindOf(original.getResult(0)).isRows())
      slice.setStaticSizesAttr(
          sizesOf(slice.getStaticSizesAttr(), kind.dim,
                  slice.getSourceType().getDimSize(kind.dim)));
  }
  if (auto slice = dyn_cast<tensor::InsertSliceOp>(op)) {
    RowKind kind = rows.kindOf(original.getResult(0));
    auto type = cast<tensor::InsertSliceOp>(original).getDestType();
    if (kind.isRows() &&
        slice.getStaticSizes()[kind.dim] == type.getDimSize(kind.dim))
      slice.setStaticSizesAttr(
          sizesOf(slice.getStaticSizesAttr(), kind.dim,
                  slice.getDestType().getDimSize(kind.dim)));
  }
}

void Taker::copy(Operation &op) {
  if (isa<scf::ForOp, scf::IfOp>(op)) {
    Operation *copied = copyWithRegions(op);
    copies[&op] = copied;
    map.map(op.getResults(), copied->getResults());
    return;
  }
  SmallVector<Value> operands;
  for (OpOperand &operand : op.getOpOperands())
    operands.push_back(operandFor(operand));
  Operation *copied = builder.clone(op, map);
  copied->setOperands(operands);
  for (auto [result, copiedResult] :
       llvm::zip(op.getResults(), copied->getResults()))
    copiedResult.setType(typeOf(result));
  if (auto constant = dyn_cast<arith::ConstantOp>(copied))
    if (constant.getValue().getType() != constant.getType())
      constant.setValueAttr(
          cast<DenseElementsAttr>(constant.getValue())
              .resizeSplat(cast<ShapedType>(constant.getType())));
  resize(copied, rows, op);
  remember(op, copied);
  moveNumbers(&op);
}

void Taker::copy(Block &block) {
  for (Operation &op : block.without_terminator())
    copy(op);
}

/// Creates a private function with arguments of types `inputs` and an empty
/// block, in which `builder` then inserts.
static func::FuncOp begin(OpBuilder &builder, Location loc, StringRef name,
                          ArrayRef<Type> inputs) {
  auto function = func::FuncOp::create(
      loc, name, builder.getFunctionType(inputs, TypeRange()));
  function.setPrivate();
  builder.setInsertionPointToStart(function.addEntryBlock());
  return function;
}

static void finish(OpBuilder &builder, func::FuncOp function,
                   ArrayRef<Value> results) {
  func::ReturnOp::create(builder, function.getLoc(), results);
  function.setFunctionType(
      builder.getFunctionType(function.getBody().front().getArgumentTypes(),
                              TypeRange(ValueRange(results))));
}

func::FuncOp takeRows(func::FuncOp body, const BodyRows &rows, Samples samples,
                      ArrayRef<bool> wholeArguments) {
  OpBuilder builder(body.getContext());
  SmallVector<Type> inputs;
  for (auto [argument, whole] : llvm::zip(body.getArguments(), wholeArguments))
    inputs.push_back(
        whole ? argument.getType()
              : typeFor(argument.getType(), rows.kindOf(argument), samples));
  func::FuncOp function = begin(builder, body.getLoc(), body.getName(), inputs);
  Taker taker(rows, samples, builder);
  for (auto [argument, copied, whole] : llvm::zip(
           body.getArguments(), function.getArguments(), wholeArguments)) {
    copied.setLoc(argument.getLoc());
    RowKind kind = rows.kindOf(argument);
    taker.map.map(argument, whole && kind.isRows()
                                ? sliceOf(builder, argument.getLoc(), copied,
                                          kind, Samples{}, samples)
                                : Value(copied));
  }
  Block &block = body.getBody().front();
  taker.copy(block);
  SmallVector<Value> results;
  for (Value value : block.getTerminator()->getOperands())
    results.push_back(taker.map.lookup(value));
  finish(builder, function, results);
  return function;
}

func::FuncOp makeSlice(Location loc, RankedTensorType whole, RowKind kind,
                       Samples from, Samples part) {
  OpBuilder builder(whole.getContext());
  func::FuncOp function =
      begin(builder, loc, "slice", {typeFor(whole, kind, from)});
  finish(builder, function,
         {sliceOf(builder, loc, function.getArgument(0), kind, from, part)});
  return function;
}

func::FuncOp makeJoin(Location loc, RankedTensorType whole, RowKind kind,
                      ArrayRef<Samples> parts) {
  OpBuilder builder(whole.getContext());
  SmallVector<Type> inputs;
  for (Samples part : parts)
    inputs.push_back(typeFor(whole, kind, part));
  func::FuncOp function = begin(builder, loc, "join", inputs);
  Samples all = {parts.front().first, parts.back().end() - parts.front().first};
  auto type = cast<RankedTensorType>(typeFor(whole, kind, all));
  Value joined = tensor::EmptyOp::create(builder, loc, type.getShape(),
                                         type.getElementType());
  for (auto [part, input] : llvm::zip(parts, function.getArguments())) {
    auto partType = cast<RankedTensorType>(input.getType());
    Place place(builder, partType, kind, part, all);
    joined = tensor::InsertSliceOp::create(
        builder, loc, input, joined, place.offsets, place.sizes, place.strides);
  }
  finish(builder, function, {joined});
  return function;
}

func::FuncOp makeSum(Location loc, RankedTensorType type, int64_t count) {
  OpBuilder builder(type.getContext());
  func::FuncOp function = begin(builder, loc, count == 0 ? "zero" : "sum",
                                SmallVector<Type>(count, type));
  if (count == 0) {
    Value zero =
        arith::ConstantOp::create(builder, loc, builder.getZeroAttr(type));
    finish(builder, function, {zero});
    return function;
  }
  Value sum = function.getArgument(0);
  for (Value input : function.getArguments().drop_front())
    sum = isa<FloatType>(type.getElementType())
              ? Value(arith::AddFOp::create(builder, loc, sum, input))
              : Value(arith::AddIOp::create(builder, loc, sum, input));
  finish(builder, function, {sum});
  return function;
}

} // namespace stagewright::pipeline
