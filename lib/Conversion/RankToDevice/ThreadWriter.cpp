//===- ThreadWriter.cpp - offsets, loads, stores and bodies ---------------===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ThreadWriter.h"
#include "mlir/Dialect/Affine/Analysis/AffineStructures.h"
#include "mlir/Interfaces/ViewLikeInterface.h"
#include "stagewright/Conversion/RankToDevice/Passes.h"

namespace stagewright::device {

std::optional<Linear> Linear::get(AffineMap map, ArrayRef<int64_t> strides) {
  Linear linear{0, SmallVector<int64_t>(map.getNumDims(), 0)};
  for (auto [result, stride] : llvm::zip_equal(map.getResults(), strides)) {
    SmallVector<int64_t> flat;
    if (failed(getFlattenedAffineExpr(result, map.getNumDims(), 0, &flat)) ||
        flat.size() != map.getNumDims() + 1)
      return std::nullopt;
    for (unsigned dim = 0; dim < map.getNumDims(); ++dim)
      linear.steps[dim] += flat[dim] * stride;
    linear.constant += flat.back() * stride;
  }
  return linear;
}

/// Whether an element offset in a buffer of `kernel`, or the number of an
/// iteration, needs more than 31 bits.
static bool isLarge(func::FuncOp kernel) {
  constexpr double most = int64_t(1) << 31;
  WalkResult loops = kernel.walk([&](linalg::LinalgOp op) {
    double iterations = 1;
    for (int64_t range : op.getStaticLoopRanges())
      iterations *= double(range);
    return iterations >= most ? WalkResult::interrupt() : WalkResult::advance();
  });
  if (loops.wasInterrupted())
    return true;
  return llvm::any_of(kernel.getArgumentTypes(), [](Type type) {
    auto buffer = dyn_cast<MemRefType>(type);
    if (!buffer)
      return false;
    auto [strides, offset] = buffer.getStridesAndOffset();
    int64_t last = offset;
    for (auto [extent, stride] : llvm::zip_equal(buffer.getShape(), strides))
      last += (extent - 1) * stride;
    return last >= (int64_t(1) << 31);
  });
}

bool ThreadWriter::isPrelude(Operation &op) {
  return op.hasTrait<OpTrait::ConstantLike>() ||
         isa<arith::ArithDialect>(op.getDialect()) || isa<memref::LoadOp>(op);
}

ThreadWriter::ThreadWriter(func::FuncOp kernel, gpu::GPUFuncOp target)
    : builder(target.getBody()), loc(kernel.getLoc()), target(target) {
  builder.setInsertionPointToStart(&target.getBody().front());
  place = isLarge(kernel) ? builder.getI64Type() : builder.getI32Type();
  for (auto [from, to] :
       llvm::zip_equal(kernel.getArguments(), target.getArguments())) {
    if (isa<MemRefType>(from.getType()))
      continue;
    mapping.map(from, isa<IndexType>(from.getType())
                          ? arith::IndexCastOp::create(
                                builder, loc, builder.getIndexType(), to)
                                .getResult()
                          : Value(to));
  }
  for (Operation &op : kernel.front())
    if (isPrelude(op))
      clone(op, {});
}

//===----------------------------------------------------------------------===//
// Places
//===----------------------------------------------------------------------===//

Value ThreadWriter::number(int64_t value) {
  return arith::ConstantOp::create(builder, loc,
                                   builder.getIntegerAttr(place, value));
}
Value ThreadWriter::add(Value a, Value b) {
  return builder.createOrFold<arith::AddIOp>(loc, a, b,
                                             arith::IntegerOverflowFlags::nsw);
}
Value ThreadWriter::add(Value a, int64_t b) {
  return b == 0 ? a : add(a, number(b));
}
Value ThreadWriter::times(Value a, int64_t b) {
  return b == 1 ? a
                : builder.createOrFold<arith::MulIOp>(
                      loc, a, number(b), arith::IntegerOverflowFlags::nsw);
}
Value ThreadWriter::dividedBy(Value a, int64_t b) {
  return b == 1 ? a : builder.createOrFold<arith::DivUIOp>(loc, a, number(b));
}
Value ThreadWriter::modulo(Value a, int64_t b) {
  return b == 1 ? number(0)
                : builder.createOrFold<arith::RemUIOp>(loc, a, number(b));
}
Value ThreadWriter::isLess(Value a, int64_t b) {
  return arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::slt, a,
                               number(b));
}
Value ThreadWriter::isZero(Value a) {
  return arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::eq, a,
                               number(0));
}

Value ThreadWriter::toPlace(Value index) {
  return arith::IndexCastOp::create(builder, loc, place, index);
}
Value ThreadWriter::threadId() {
  if (!thread) {
    OpBuilder::InsertionGuard guard(builder);
    builder.setInsertionPointToStart(&target.getBody().front());
    thread = toPlace(gpu::ThreadIdOp::create(builder, loc, gpu::Dimension::x));
  }
  return thread;
}
Value ThreadWriter::blockId(gpu::Dimension dimension) {
  return toPlace(gpu::BlockIdOp::create(builder, loc, dimension));
}

SmallVector<Value> ThreadWriter::split(Value counter,
                                       ArrayRef<int64_t> extents) {
  SmallVector<Value> indices(extents.size());
  for (size_t i = extents.size(); i-- > 0;) {
    // Here the counter is less than the outermost extent: no modulo needed.
    bool outermost = llvm::all_of(extents.take_front(i),
                                  [](int64_t extent) { return extent == 1; });
    indices[i] =
        outermost && extents[i] != 1 ? counter : modulo(counter, extents[i]);
    counter = outermost ? number(0) : dividedBy(counter, extents[i]);
  }
  return indices;
}

Value ThreadWriter::evaluate(AffineExpr expr, ValueRange indices) {
  if (auto dim = dyn_cast<AffineDimExpr>(expr))
    return indices[dim.getPosition()];
  if (auto constant = dyn_cast<AffineConstantExpr>(expr))
    return number(constant.getValue());
  auto binary = cast<AffineBinaryOpExpr>(expr);
  Value lhs = evaluate(binary.getLHS(), indices);
  if (expr.getKind() == AffineExprKind::Add)
    return add(lhs, evaluate(binary.getRHS(), indices));
  int64_t rhs = cast<AffineConstantExpr>(binary.getRHS()).getValue();
  switch (expr.getKind()) {
  case AffineExprKind::Mul:
    return times(lhs, rhs);
  case AffineExprKind::Mod:
    return modulo(lhs, rhs);
  case AffineExprKind::FloorDiv:
    return dividedBy(lhs, rhs);
  default:
    return dividedBy(add(lhs, rhs - 1), rhs);
  }
}

//===----------------------------------------------------------------------===//
// Memory
//===----------------------------------------------------------------------===//

Memory ThreadWriter::memoryOf(Value value) {
  auto type = cast<MemRefType>(value.getType());
  auto [strides, offset] = type.getStridesAndOffset();
  Memory memory;
  memory.strides.assign(strides.begin(), strides.end());
  memory.element = type.getElementType();
  if (ShapedType::isDynamic(offset)) {
    // A slice with dynamic offsets.
    Operation *maker = value.getDefiningOp();
    auto view = cast<ViewLikeOpInterface>(maker);
    Memory source = memoryOf(view.getViewSource());
    memory.pointer = source.pointer;
    memory.start = source.start;
    memory.offset = source.offset;
    if (auto slice = dyn_cast<OffsetSizeAndStrideOpInterface>(maker)) {
      for (auto [from, stride] :
           llvm::zip_equal(slice.getMixedOffsets(), source.strides)) {
        if (auto constant = getConstantIntValue(from)) {
          memory.offset += *constant * stride;
          continue;
        }
        Value step = times(toPlace(lookup(cast<Value>(from))), stride);
        memory.start = memory.start ? add(memory.start, step) : step;
      }
    }
    return memory;
  }
  while (auto view = value.getDefiningOp<ViewLikeOpInterface>())
    value = view.getViewSource();
  if (auto argument = dyn_cast<BlockArgument>(value))
    memory.pointer = target.getArgument(argument.getArgNumber());
  else
    memory.pointer = allocated.lookup(value);
  memory.offset = offset;
  return memory;
}

Value ThreadWriter::placeOf(const Memory &memory, AffineMap map,
                            ValueRange indices) {
  if (auto linear = Linear::get(map, memory.strides))
    return placeOf(memory, *linear, indices);
  Value at = number(memory.offset);
  if (memory.start)
    at = add(at, memory.start);
  for (auto [expr, stride] : llvm::zip_equal(map.getResults(), memory.strides))
    at = add(at, times(evaluate(expr, indices), stride));
  return at;
}

Value ThreadWriter::placeOf(const Memory &memory, const Linear &linear,
                            ValueRange indices) {
  Value at;
  auto append = [&](Value part) { at = at ? add(at, part) : part; };
  for (auto [index, step] : llvm::zip_equal(indices, linear.steps))
    if (step != 0)
      append(times(index, step));
  if (memory.start)
    append(memory.start);
  int64_t constant = linear.constant + memory.offset;
  return at ? add(at, constant) : number(constant);
}

Value ThreadWriter::address(const Memory &memory, Value at) {
  Type wide = builder.getI64Type();
  Value index =
      place == wide
          ? at
          : arith::ExtSIOp::create(builder, loc, wide, at).getResult();
  return LLVM::GEPOp::create(builder, loc, memory.pointer.getType(),
                             storageOf(memory.element), memory.pointer,
                             ArrayRef<LLVM::GEPArg>{index},
                             LLVM::GEPNoWrapFlags::inbounds);
}

/// The LLVM type for elements in memory: LLVM has no 8-bit floats.
Type ThreadWriter::storageOf(Type element) {
  if (isa<IndexType>(element))
    return builder.getI64Type();
  bool tiny = isa<FloatType>(element) && element.getIntOrFloatBitWidth() == 8;
  return tiny ? Type(builder.getI8Type()) : element;
}

Value ThreadWriter::fromStorage(Value value, Type element) {
  if (value.getType() == element)
    return value;
  if (isa<IndexType>(element))
    return arith::IndexCastOp::create(builder, loc, element, value);
  return arith::BitcastOp::create(builder, loc, element, value);
}

Value ThreadWriter::toStorage(Value value) {
  Type storage = storageOf(value.getType());
  if (value.getType() == storage)
    return value;
  if (isa<IndexType>(value.getType()))
    return arith::IndexCastOp::create(builder, loc, storage, value);
  return arith::BitcastOp::create(builder, loc, storage, value);
}

Value ThreadWriter::load(const Memory &memory, Value at) {
  if (!memory.pointer)
    return arith::ConstantOp::create(builder, loc,
                                     builder.getZeroAttr(memory.element));
  return fromStorage(LLVM::LoadOp::create(builder, loc,
                                          storageOf(memory.element),
                                          address(memory, at)),
                     memory.element);
}

void ThreadWriter::store(const Memory &memory, Value at, Value value) {
  if (!memory.pointer)
    return;
  LLVM::StoreOp::create(builder, loc, toStorage(value), address(memory, at));
}

/// Max bytes that one instruction loads or stores.
constexpr int64_t kWidest = 16;

SmallVector<Value> ThreadWriter::loadLanes(const Memory &memory, Value at,
                                           unsigned lanes) {
  if (lanes == 1 || !memory.pointer)
    return SmallVector<Value>(lanes, load(memory, at));
  int64_t bytes = memory.element.getIntOrFloatBitWidth() / 8;
  unsigned each = std::min<int64_t>(lanes, kWidest / bytes);
  SmallVector<Value> values;
  for (unsigned first = 0; first < lanes; first += each) {
    Value vector = LLVM::LoadOp::create(
        builder, loc,
        VectorType::get({int64_t(each)}, storageOf(memory.element)),
        address(memory, add(at, first)), /*alignment=*/each * bytes);
    for (unsigned i = 0; i < each; ++i)
      values.push_back(fromStorage(
          LLVM::ExtractElementOp::create(
              builder, loc, vector,
              LLVM::ConstantOp::create(builder, loc, builder.getI32Type(),
                                       builder.getI32IntegerAttr(int32_t(i)))),
          memory.element));
  }
  return values;
}

void ThreadWriter::storeLanes(const Memory &memory, Value at,
                              ValueRange values) {
  if (values.size() == 1 || !memory.pointer)
    return store(memory, at, values[0]);
  int64_t bytes = memory.element.getIntOrFloatBitWidth() / 8;
  unsigned each = std::min<int64_t>(int64_t(values.size()), kWidest / bytes);
  for (unsigned first = 0; first < values.size(); first += each) {
    Value vector = LLVM::PoisonOp::create(
        builder, loc,
        VectorType::get({int64_t(each)}, storageOf(memory.element)));
    for (unsigned i = 0; i < each; ++i)
      vector = LLVM::InsertElementOp::create(
          builder, loc, vector, toStorage(values[first + i]),
          LLVM::ConstantOp::create(builder, loc, builder.getI32Type(),
                                   builder.getI32IntegerAttr(int32_t(i))));
    LLVM::StoreOp::create(builder, loc, vector, address(memory, add(at, first)),
                          /*alignment=*/each * bytes);
  }
}

//===----------------------------------------------------------------------===//
// Bodies
//===----------------------------------------------------------------------===//

void ThreadWriter::clone(Operation &op, ValueRange indices) {
  if (special && special(op))
    return;
  if (auto index = dyn_cast<linalg::IndexOp>(op)) {
    map(index, arith::IndexCastOp::create(builder, loc, builder.getIndexType(),
                                          indices[index.getDim()]));
    return;
  }
  auto placeAt = [&](const Memory &memory, ValueRange at) {
    Value place = number(memory.offset);
    if (memory.start)
      place = add(place, memory.start);
    for (auto [index, stride] : llvm::zip_equal(at, memory.strides))
      place = add(place, times(toPlace(lookup(index)), stride));
    return place;
  };
  if (auto read = dyn_cast<memref::LoadOp>(op)) {
    Memory memory = memoryOf(read.getMemRef());
    map(read, load(memory, placeAt(memory, read.getIndices())));
    return;
  }
  if (auto write = dyn_cast<memref::StoreOp>(op)) {
    Memory memory = memoryOf(write.getMemRef());
    store(memory, placeAt(memory, write.getIndices()),
          lookup(write.getValueToStore()));
    return;
  }
  if (isa<ViewLikeOpInterface>(op))
    return; // memoryOf() resolves views
  Operation *copy = builder.cloneWithoutRegions(op, mapping);
  OpBuilder::InsertionGuard guard(builder);
  for (auto [from, to] : llvm::zip_equal(op.getRegions(), copy->getRegions()))
    for (Block &block : from) {
      Block *written = builder.createBlock(&to, to.end());
      for (BlockArgument argument : block.getArguments())
        map(argument,
            written->addArgument(argument.getType(), argument.getLoc()));
      builder.setInsertionPointToEnd(written);
      cloneBlock(block, indices);
    }
}

void ThreadWriter::cloneBlock(Block &block, ValueRange indices) {
  for (Operation &op : block)
    clone(op, indices);
}

SmallVector<Value> ThreadWriter::body(linalg::LinalgOp op, ValueRange indices,
                                      ValueRange arguments) {
  Block *block = op.getBlock();
  for (auto [argument, value] :
       llvm::zip_equal(block->getArguments(), arguments))
    if (value)
      map(argument, value);
  for (Operation &inner : block->without_terminator())
    clone(inner, indices);
  return llvm::map_to_vector(block->getTerminator()->getOperands(),
                             [&](Value value) { return lookup(value); });
}

} // namespace stagewright::device
