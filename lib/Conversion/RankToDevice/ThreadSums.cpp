//===- ThreadSums.cpp - initial values and divisors of sums ---------------===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A gradient is a sum over microbatches. Which microbatch is first depends on
// the schedule. So an argument of each launch states which sums start from zero
// instead of the contents of their buffer, and which are divided by a count
// afterwards, for means (sw_sums in stagewright-rt/device.h).
//
//===----------------------------------------------------------------------===//

#include "ThreadWriter.h"
#include "stagewright-rt/device.h"
#include "stagewright/Dialect/LLVM.h"

namespace stagewright::device {

/// Whether `op` writes every element of `init` once.
static bool writesWhole(linalg::LinalgOp op, OpOperand &init) {
  auto type = cast<MemRefType>(init.get().getType());
  AffineMap map = op.getMatchingIndexingMap(&init);
  SmallVector<int64_t> ranges = op.getStaticLoopRanges();
  SmallVector<utils::IteratorType> iterators = op.getIteratorTypesArray();
  if (!type.getLayout().isIdentity() || !map.isProjectedPermutation())
    return false;
  int64_t points = 1;
  for (AffineExpr result : map.getResults())
    points *= ranges[cast<AffineDimExpr>(result).getPosition()];
  for (auto [loop, iterator] : llvm::enumerate(iterators))
    if (iterator == utils::IteratorType::parallel && ranges[loop] != 1 &&
        !map.isFunctionOfDim(unsigned(loop)))
      return false;
  return points == type.getNumElements();
}

SmallVector<Value>
ThreadWriter::beginSums(linalg::LinalgOp op, OpOperand &init, unsigned count,
                        llvm::function_ref<SmallVector<Value>()> read) {
  auto argument = dyn_cast<BlockArgument>(init.get());
  Type element = getElementTypeOrSelf(init.get());
  if (!argument || !argument.hasOneUse() || !isa<FloatType>(element) ||
      !writesWhole(op, init))
    return read();
  auto *bit = llvm::find(sums, int64_t(argument.getArgNumber()));
  if (bit == sums.end()) {
    if (sums.size() == SW_SUMS_MOST)
      return read();
    sums.push_back(argument.getArgNumber());
    bit = &sums.back();
  }
  Value zero =
      arith::ConstantOp::create(builder, loc, builder.getZeroAttr(element));
  return where(isClear(unsigned(bit - sums.begin()) + SW_SUMS_ZERO),
               SmallVector<Value>(count, zero), read);
}

Value ThreadWriter::isClear(unsigned bit) {
  if (!sumBits) {
    unsigned number = target.getNumArguments();
    (void)target.insertArgument(number, builder.getI64Type(), {}, loc);
    sumBits = target.getArgument(number);
  }
  auto constant = [&](int64_t value) {
    return arith::ConstantIntOp::create(builder, loc, builder.getI64Type(),
                                        value);
  };
  Value own =
      arith::AndIOp::create(builder, loc, sumBits, constant(int64_t(1) << bit));
  return arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::eq, own,
                               constant(0));
}

Value ThreadWriter::countOfSums(Type type) {
  Value shift = arith::ConstantIntOp::create(builder, loc, builder.getI64Type(),
                                             SW_SUMS_COUNT);
  return arith::UIToFPOp::create(
      builder, loc, type, arith::ShRUIOp::create(builder, loc, sumBits, shift));
}

SmallVector<Value> ThreadWriter::endSums(OpOperand &init, ValueRange values) {
  auto argument = dyn_cast<BlockArgument>(init.get());
  auto *bit = argument ? llvm::find(sums, int64_t(argument.getArgNumber()))
                       : sums.end();
  if (bit == sums.end())
    return SmallVector<Value>(values);
  Value keeps = isClear(unsigned(bit - sums.begin()) + SW_SUMS_DIVIDE);
  auto divide = [&]() -> SmallVector<Value> {
    Value count = countOfSums(getElementTypeOrSelf(init.get()));
    return llvm::map_to_vector(values, [&](Value value) -> Value {
      return arith::DivFOp::create(builder, loc, value, count);
    });
  };
  Value divides = arith::XOrIOp::create(
      builder, loc, keeps,
      arith::ConstantOp::create(builder, loc, builder.getBoolAttr(true)));
  return where(divides, values, divide);
}

Value ThreadWriter::divisorOf(BlockArgument argument) {
  size_t bit = sums.size() + adds.size();
  auto type = cast<MemRefType>(argument.getType());
  if (bit >= SW_SUMS_MOST || !isa<FloatType>(type.getElementType()) ||
      !type.getLayout().isIdentity())
    return {};
  adds.push_back(argument.getArgNumber());
  Value keeps = isClear(unsigned(bit) + SW_SUMS_DIVIDE);
  Value one = arith::ConstantOp::create(
      builder, loc, builder.getFloatAttr(type.getElementType(), 1));
  return arith::SelectOp::create(builder, loc, keeps, one,
                                 countOfSums(type.getElementType()));
}

} // namespace stagewright::device
