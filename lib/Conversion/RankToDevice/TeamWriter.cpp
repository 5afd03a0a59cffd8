//===- TeamWriter.cpp - branches, loops, and sums over threads ------------===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ThreadWriter.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "stagewright/Conversion/RankToDevice/Passes.h"
#include "llvm/Support/MathExtras.h"

namespace stagewright::device {

SmallVector<Value>
ThreadWriter::where(Value condition, ValueRange otherwise,
                    llvm::function_ref<SmallVector<Value>()> then) {
  if (!condition)
    return then();
  OpBuilder::InsertionGuard guard(builder);
  auto branch = scf::IfOp::create(builder, loc, otherwise.getTypes(), condition,
                                  /*withElseRegion=*/!otherwise.empty());
  auto yield = [&](Block *block, ValueRange values) {
    if (!block->empty() && block->back().hasTrait<OpTrait::IsTerminator>())
      block->back().erase();
    builder.setInsertionPointToEnd(block);
    scf::YieldOp::create(builder, loc, values);
  };
  builder.setInsertionPointToStart(branch.thenBlock());
  SmallVector<Value> made = then();
  yield(branch.thenBlock(), made);
  // The else region exists only if there are values to yield.
  if (!otherwise.empty())
    yield(branch.elseBlock(), otherwise);
  return llvm::to_vector_of<Value>(branch.getResults());
}

SmallVector<Value> ThreadWriter::loop(
    int64_t count, ValueRange inits,
    llvm::function_ref<SmallVector<Value>(Value, ValueRange)> turn) {
  return loop(number(0), number(count), 1, inits, turn);
}

SmallVector<Value> ThreadWriter::loop(
    Value lower, Value upper, int64_t step, ValueRange inits,
    llvm::function_ref<SmallVector<Value>(Value, ValueRange)> turn) {
  OpBuilder::InsertionGuard guard(builder);
  auto loop =
      scf::ForOp::create(builder, loc, lower, upper, number(step), inits);
  Block *block = loop.getBody();
  if (!block->empty())
    block->back().erase();
  builder.setInsertionPointToStart(block);
  SmallVector<Value> next =
      turn(loop.getInductionVar(), loop.getRegionIterArgs());
  builder.setInsertionPointToEnd(block);
  scf::YieldOp::create(builder, loc, next);
  return llvm::to_vector_of<Value>(loop.getResults());
}

void ThreadWriter::barrier() {
  gpu::BarrierOp::create(builder, loc);
  ++barriers;
}

Value ThreadWriter::combine(Operation *op, Value a, Value b) {
  IRMapping operands;
  operands.map(op->getOperand(0), a);
  operands.map(op->getOperand(1), b);
  return builder.clone(*op, operands)->getResult(0);
}

Memory ThreadWriter::shared(Type element, int64_t count) {
  auto space = LLVM::LLVMPointerType::get(builder.getContext(), 3);
  if (!sharedBase) {
    OpBuilder::InsertionGuard guard(builder);
    builder.setInsertionPointToStart(&target.getBody().front());
    auto memory = gpu::DynamicSharedMemoryOp::create(
        builder, loc,
        MemRefType::get(
            {ShapedType::kDynamic}, builder.getI8Type(),
            MemRefLayoutAttrInterface(),
            gpu::AddressSpaceAttr::get(builder.getContext(),
                                       gpu::AddressSpace::Workgroup)));
    sharedBase = UnrealizedConversionCastOp::create(builder, loc, space,
                                                    memory.getResult())
                     .getResult(0);
  }
  int64_t bytes = (element.getIntOrFloatBitWidth() + 7) / 8;
  Memory memory;
  memory.pointer =
      LLVM::GEPOp::create(builder, loc, space, builder.getI8Type(), sharedBase,
                          ArrayRef<LLVM::GEPArg>{int32_t(shape.shared)});
  memory.strides = {1};
  memory.element = element;
  shape.shared += llvm::alignTo(bytes * count, kVectorBytes);
  return memory;
}

void ThreadWriter::allocate(Value buffer) {
  auto type = cast<MemRefType>(buffer.getType());
  allocated[buffer] =
      shared(type.getElementType(), type.getNumElements()).pointer;
}

Value ThreadWriter::shuffle(Value value, int64_t offset) {
  Type type = value.getType();
  unsigned width = type.getIntOrFloatBitWidth();
  auto exchange = [&](Value word) -> Value {
    return gpu::ShuffleOp::create(builder, loc, word, int32_t(offset),
                                  int32_t(kWarp), gpu::ShuffleMode::XOR)
        .getShuffleResult();
  };
  Type word = builder.getI32Type();
  if (width == 32)
    return exchange(value);
  Type bits = builder.getIntegerType(width);
  Value raw = type == bits
                  ? value
                  : arith::BitcastOp::create(builder, loc, bits, value);
  Value result;
  if (width < 32) {
    result = arith::TruncIOp::create(
        builder, loc, bits,
        exchange(arith::ExtUIOp::create(builder, loc, word, raw)));
  } else {
    Value half = arith::ConstantOp::create(builder, loc,
                                           builder.getIntegerAttr(bits, 32));
    Value low = exchange(arith::TruncIOp::create(builder, loc, word, raw));
    Value high = exchange(arith::TruncIOp::create(
        builder, loc, word, arith::ShRUIOp::create(builder, loc, raw, half)));
    result = arith::OrIOp::create(
        builder, loc, arith::ExtUIOp::create(builder, loc, bits, low),
        arith::ShLIOp::create(builder, loc,
                              arith::ExtUIOp::create(builder, loc, bits, high),
                              half));
  }
  return type == bits ? result
                      : arith::BitcastOp::create(builder, loc, type, result);
}

Value ThreadWriter::reduce(Value value, Operation *op, Value thread,
                           int64_t team) {
  for (int64_t offset = kWarp / 2; offset > 0; offset /= 2)
    value = combine(op, value, shuffle(value, offset));
  if (team == kWarp)
    return value;
  int64_t warps = team / kWarp;
  Memory partial = shared(value.getType(), shape.block[0] / kWarp);
  // The number, in the block, of this team's first warp.
  Value first = shape.block[0] == team
                    ? number(0)
                    : times(dividedBy(threadId(), team), warps);
  where(isZero(modulo(thread, kWarp)), {}, [&]() -> SmallVector<Value> {
    store(partial, add(first, dividedBy(thread, kWarp)), value);
    return {};
  });
  barrier();
  // All threads combine in the same order, so all get the same bits.
  value = load(partial, first);
  for (int64_t warp = 1; warp < warps; ++warp)
    value = combine(op, value, load(partial, add(first, warp)));
  return value;
}

} // namespace stagewright::device
