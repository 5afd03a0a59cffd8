//===- ThreadSums.cpp - initial values of sums ----------------------------===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A gradient is a sum over microbatches. Which microbatch is first depends on
// the schedule, so an argument of each launch says which of the buffers that
// the kernel adds to count as zero.
//
//===----------------------------------------------------------------------===//

#include "ThreadWriter.h"

using namespace mlir;

namespace stagewright::device {

/// Max sums of a kernel: one for each bit of that argument.
static constexpr size_t kMostSums = 64;

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
    if (sums.size() == kMostSums)
      return read();
    sums.push_back(argument.getArgNumber());
    bit = &sums.back();
  }
  if (!zeroBits) {
    unsigned number = target.getNumArguments();
    (void)target.insertArgument(number, builder.getI64Type(), {}, loc);
    zeroBits = target.getArgument(number);
  }
  auto constant = [&](int64_t value) {
    return arith::ConstantIntOp::create(builder, loc, builder.getI64Type(),
                                        value);
  };
  Value own = arith::AndIOp::create(
      builder, loc, zeroBits, constant(int64_t(1) << (bit - sums.begin())));
  Value reads = arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::eq,
                                      own, constant(0));
  Value zero =
      arith::ConstantOp::create(builder, loc, builder.getZeroAttr(element));
  return where(reads, SmallVector<Value>(count, zero), read);
}

} // namespace stagewright::device
