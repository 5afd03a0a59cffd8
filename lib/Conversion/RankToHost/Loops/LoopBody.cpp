//===- LoopBody.cpp - vector code for the body of an operation ------------===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "LoopBody.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "stagewright/Dialect/LLVM.h"

namespace stagewright::host {

/// The type in memory: an i1 is a byte, an index 64 bits.
static Type memoryType(Type element) {
  if (element.isInteger(1))
    return IntegerType::get(element.getContext(), 8);
  if (element.isIndex())
    return IntegerType::get(element.getContext(), 64);
  return element;
}

static int64_t bytesOf(Type memory) {
  return memory.getIntOrFloatBitWidth() / 8;
}

Type LoopBody::vectorOf(Type element, int64_t width) const {
  return width == 1 ? element : VectorType::get(width, element);
}

Value LoopBody::spread(OpBuilder &builder, Value value, int64_t width) const {
  if (width == 1 || isa<VectorType>(value.getType()))
    return value;
  return vector::BroadcastOp::create(builder, value.getLoc(),
                                     vectorOf(value.getType(), width), value);
}

bool LoopBody::readsOld(unsigned index) const {
  BlockArgument old =
      space.body().getArgument(space.op.getNumDpsInputs() + index);
  return !old.use_empty();
}

//===----------------------------------------------------------------------===//
// Addresses
//===----------------------------------------------------------------------===//

Value LoopBody::distance(OpBuilder &builder, const Access &access,
                         const Position &position) const {
  Location loc = space.op.getLoc();
  Value sum = access.place.start;
  auto add = [&](Value value, int64_t factor) {
    if (factor != 1)
      value = arith::MulIOp::create(
          builder, loc, value,
          arith::ConstantIndexOp::create(builder, loc, factor));
    sum = sum ? arith::AddIOp::create(builder, loc, sum, value) : value;
  };
  for (auto [number, step] : llvm::zip_equal(position.numbers, access.steps))
    if (number && step != 0)
      add(number, step);
  return sum;
}

Value LoopBody::pointer(OpBuilder &builder, const Access &access,
                        Value distance, int64_t more) const {
  Location loc = space.op.getLoc();
  auto type = LLVM::LLVMPointerType::get(builder.getContext());
  Value base = UnrealizedConversionCastOp::create(builder, loc, type,
                                                  access.place.buffer)
                   .getResult(0);
  auto move = [&](Value by) {
    base = LLVM::GEPOp::create(builder, loc, type, memoryType(access.element),
                               base, LLVM::GEPArg(by));
  };
  if (distance)
    move(arith::IndexCastOp::create(builder, loc, builder.getI64Type(),
                                    distance));
  more += access.place.offset;
  if (more != 0)
    move(arith::ConstantIntOp::create(builder, loc, more, 64));
  return base;
}

/// A pointer for every lane: one step of the vector loop apart, plus the
/// computed indices of the lane.
Value LoopBody::pointers(OpBuilder &builder, const Access &access,
                         Value distance, Piece piece) const {
  Location loc = space.op.getLoc();
  int64_t step = access.steps[plan.vector];
  Value first = pointer(builder, access, distance, piece.first * step);
  SmallVector<int64_t> lanes;
  for (int64_t lane = 0; lane < piece.width; ++lane)
    lanes.push_back(lane * step);
  auto type = VectorType::get(piece.width, builder.getI64Type());
  Value index = arith::ConstantOp::create(
      builder, loc, DenseIntElementsAttr::get(type, lanes));
  for (auto [computed, stride] : access.computed) {
    Value part = spread(builder, values.lookupOrDefault(computed), piece.width);
    part = arith::IndexCastOp::create(builder, loc, type, part);
    Value factor = arith::ConstantOp::create(
        builder, loc,
        DenseIntElementsAttr::get(type, ArrayRef<int64_t>(stride)));
    index = arith::AddIOp::create(
        builder, loc, index, arith::MulIOp::create(builder, loc, part, factor));
  }
  auto result = VectorType::get(
      piece.width, LLVM::LLVMPointerType::get(builder.getContext()));
  return LLVM::GEPOp::create(builder, loc, result, memoryType(access.element),
                             first, LLVM::GEPArg(index));
}

static Value everyLane(OpBuilder &builder, Location loc, int64_t width) {
  auto type = VectorType::get(width, builder.getI1Type());
  return arith::ConstantOp::create(builder, loc,
                                   DenseElementsAttr::get(type, true));
}

//===----------------------------------------------------------------------===//
// Reads and writes
//===----------------------------------------------------------------------===//

Value LoopBody::read(OpBuilder &builder, const Access &access,
                     const Position &position, Piece piece) const {
  Location loc = space.op.getLoc();
  Type memory = memoryType(access.element);
  bool computedVector = llvm::any_of(access.computed, [&](auto &index) {
    return isa<VectorType>(values.lookupOrDefault(index.first).getType());
  });
  int64_t step = plan.vector < 0 ? 0 : access.steps[plan.vector];
  Value from = distance(builder, access, position);
  int64_t first = piece.first * step;
  Value value;
  if (piece.width > 1 && (computedVector || step != 1)) {
    Value where = pointers(builder, access, from, piece);
    value = LLVM::masked_gather::create(
        builder, loc, vectorOf(memory, piece.width), where,
        everyLane(builder, loc, piece.width), ValueRange(),
        builder.getI32IntegerAttr(bytesOf(memory)));
  } else {
    for (auto [computed, stride] : access.computed) {
      Value part = arith::MulIOp::create(
          builder, loc, values.lookupOrDefault(computed),
          arith::ConstantIndexOp::create(builder, loc, stride));
      from = from ? arith::AddIOp::create(builder, loc, from, part) : part;
    }
    value = LLVM::LoadOp::create(builder, loc, vectorOf(memory, piece.width),
                                 pointer(builder, access, from, first),
                                 bytesOf(memory));
  }
  Type type = vectorOf(access.element, piece.width);
  if (access.element.isInteger(1))
    return arith::TruncIOp::create(builder, loc, type, value);
  if (access.element.isIndex())
    return arith::IndexCastOp::create(builder, loc, type, value);
  return value;
}

Value LoopBody::load(OpBuilder &builder, const Position &position, Piece piece,
                     unsigned index) {
  return read(builder, result(index), position, piece);
}

void LoopBody::store(OpBuilder &builder, const Position &position, Piece piece,
                     unsigned index, Value value) {
  Location loc = space.op.getLoc();
  const Access &access = result(index);
  Type memory = memoryType(access.element);
  int64_t step = plan.vector < 0 ? 0 : access.steps[plan.vector];
  value = spread(builder, value, piece.width);
  if (access.element.isInteger(1))
    value = arith::ExtUIOp::create(builder, loc, vectorOf(memory, piece.width),
                                   value);
  else if (access.element.isIndex())
    value = arith::IndexCastOp::create(builder, loc,
                                       vectorOf(memory, piece.width), value);
  Value to = distance(builder, access, position);
  if (piece.width > 1 && step != 1) {
    LLVM::masked_scatter::create(builder, loc, value,
                                 pointers(builder, access, to, piece),
                                 everyLane(builder, loc, piece.width),
                                 builder.getI32IntegerAttr(bytesOf(memory)));
    return;
  }
  LLVM::StoreOp::create(builder, loc, value,
                        pointer(builder, access, to, piece.first * step),
                        bytesOf(memory));
}

/// The indices of the vector loop, one per lane.
Value LoopBody::number(OpBuilder &builder, const Position &position,
                       Piece piece, Type type) const {
  Location loc = space.op.getLoc();
  Value first = arith::ConstantIndexOp::create(builder, loc, piece.first);
  if (Value number = position.numbers[plan.vector])
    first = piece.first == 0
                ? number
                : arith::AddIOp::create(builder, loc, number, first);
  if (!type.isIndex())
    first = arith::IndexCastOp::create(builder, loc, type, first);
  if (piece.width == 1)
    return first;
  auto lanesType = VectorType::get(piece.width, type);
  SmallVector<Attribute> lanes;
  for (int64_t lane = 0; lane < piece.width; ++lane)
    lanes.push_back(builder.getIntegerAttr(type, lane));
  Value step = arith::ConstantOp::create(
      builder, loc, DenseElementsAttr::get(lanesType, lanes));
  return arith::AddIOp::create(builder, loc,
                               spread(builder, first, piece.width), step);
}

//===----------------------------------------------------------------------===//
// Bodies
//===----------------------------------------------------------------------===//

void LoopBody::writeScalars(OpBuilder &builder, const Position &position) {
  Piece point{0, 1};
  values = IRMapping();
  for (auto [argument, access, operand] :
       llvm::zip_equal(space.body().getArguments(), space.accesses,
                       space.op->getOperands())) {
    if (!access.isBuffer())
      values.map(argument, operand);
    else if (int(argument.getArgNumber()) < space.op.getNumDpsInputs() &&
             !argument.use_empty() &&
             (plan.vector < 0 || access.steps[plan.vector] == 0))
      values.map(argument, read(builder, access, position, point));
  }
  for (Operation &op : space.body().without_terminator()) {
    if (plan.varying.contains(&op) || plan.vector < 0)
      continue;
    convert(builder, op, position, point);
  }
  scalars = values;
}

void LoopBody::convert(OpBuilder &builder, Operation &op,
                       const Position &position, Piece piece) {
  Location loc = op.getLoc();
  Value made;
  if (auto load = dyn_cast<memref::LoadOp>(op)) {
    made = read(builder, space.loads[load], position, piece);
  } else if (auto index = dyn_cast<linalg::IndexOp>(op)) {
    int loop = space.counter[index.getDim()];
    if (loop < 0)
      made = arith::ConstantIndexOp::create(builder, loc, 0);
    else if (loop == plan.vector)
      made = number(builder, position, piece, builder.getIndexType());
    else
      made = position.numbers[loop];
  } else if (auto cast = dyn_cast<arith::IndexCastOp>(op);
             cast && piece.width > 1 &&
             cast.getIn().getDefiningOp<linalg::IndexOp>()) {
    // Indices are computed in the narrow type, in half the registers.
    made = number(builder, position, piece, cast.getType());
  } else if (op.hasTrait<OpTrait::ConstantLike>()) {
    made = builder.clone(op)->getResult(0);
  } else {
    SmallVector<Value> operands;
    for (Value operand : op.getOperands())
      operands.push_back(
          spread(builder, values.lookupOrDefault(operand), piece.width));
    OperationState state(loc, op.getName());
    state.addOperands(operands);
    for (Type type : op.getResultTypes())
      state.addTypes(vectorOf(type, piece.width));
    state.addAttributes(op.getDiscardableAttrDictionary().getValue());
    state.propertiesAttr = op.getPropertiesAsAttribute();
    values.map(op.getResults(), builder.create(state)->getResults());
    return;
  }
  values.map(op.getResult(0), made);
}

SmallVector<Value> LoopBody::write(OpBuilder &builder, const Position &position,
                                   Piece piece, ValueRange carried) {
  values = scalars;
  unsigned inputs = space.op.getNumDpsInputs();
  for (auto [result, value] : llvm::zip_equal(plan.carried, carried))
    values.map(space.body().getArgument(inputs + result), value);
  for (auto [argument, access] :
       llvm::zip_equal(space.body().getArguments(), space.accesses))
    if (!values.contains(argument) && !argument.use_empty())
      values.map(argument, read(builder, access, position, piece));
  for (Operation &op : space.body().without_terminator())
    if (!values.contains(op.getResult(0)))
      convert(builder, op, position, piece);
  SmallVector<Value> next;
  for (auto [i, yielded] :
       llvm::enumerate(space.body().getTerminator()->getOperands())) {
    Value value = values.lookupOrDefault(yielded);
    if (llvm::is_contained(plan.carried, i))
      next.push_back(spread(builder, value, piece.width));
    else
      store(builder, position, piece, i, value);
  }
  return next;
}

} // namespace stagewright::host
