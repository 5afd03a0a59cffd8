//===- RowLoops.cpp - row loops and inner loops of an operation -----------===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "RowLoops.h"
#include "mlir/IR/IRMapping.h"
#include "stagewright/Conversion/RankToDevice/Passes.h"

namespace stagewright::device {

FailureOr<RowLoops> RowLoops::get(Operation *op) {
  auto rows = op->getAttrOfType<DenseI64ArrayAttr>(kRows);
  auto linalgOp = dyn_cast<linalg::LinalgOp>(op);
  if (!rows || !linalgOp)
    return failure();
  return get(linalgOp, llvm::to_vector_of<unsigned>(rows.asArrayRef()));
}

void markRows(Operation *op, ArrayRef<unsigned> rows) {
  op->setAttr(kRows,
              Builder(op->getContext())
                  .getDenseI64ArrayAttr(llvm::to_vector_of<int64_t>(rows)));
}

FailureOr<RowLoops> RowLoops::get(linalg::LinalgOp op,
                                  ArrayRef<unsigned> rows) {
  RowLoops loops{op, op.getStaticLoopRanges(), llvm::to_vector(rows), {}};
  SmallVector<utils::IteratorType> types = op.getIteratorTypesArray();
  unsigned summed = 0, summedRows = 0;
  for (unsigned loop = 0; loop < loops.ranges.size(); ++loop) {
    bool sums = types[loop] == utils::IteratorType::reduction;
    if (llvm::is_contained(loops.rows, loop)) {
      summedRows += sums;
      continue;
    }
    if (loops.ranges[loop] == 1 && !sums)
      continue;
    loops.inner.push_back(loop);
    summed += sums;
  }
  if (summed != 0 && summed != loops.inner.size())
    return failure();
  loops.reduces = summed != 0;
  loops.sumsRows = summedRows != 0;
  if (loops.sumsRows &&
      (loops.reduces || loops.inner.empty() || summedRows != loops.rows.size()))
    return failure();
  bool sums = loops.reduces || loops.sumsRows;
  for (unsigned i = 0; sums && i < op.getNumDpsInits(); ++i)
    if (failed(matchCombiner(op, i)))
      return failure();
  return loops;
}

int64_t RowLoops::turns() const {
  int64_t turns = 1;
  for (unsigned loop : inner)
    turns *= ranges[loop];
  return turns;
}

int64_t RowLoops::numRows() const {
  int64_t number = 1;
  for (unsigned loop : rows)
    number *= ranges[loop];
  return number;
}

SmallVector<int> RowLoops::placesOf(AffineMap map) const {
  SmallVector<int> places;
  for (AffineExpr expr : map.getResults()) {
    int place = -1;
    if (auto dim = dyn_cast<AffineDimExpr>(expr)) {
      const auto *row = llvm::find(rows, dim.getPosition());
      const auto *in = llvm::find(inner, dim.getPosition());
      if (row != rows.end())
        place = int(row - rows.begin());
      else if (in != inner.end())
        place = -2 - int(in - inner.begin());
    }
    places.push_back(place);
  }
  return places;
}

Access RowLoops::accessOf(AffineMap map) const {
  if (!map.isProjectedPermutation(/*allowZeroInResults=*/true))
    return Access::Other;
  unsigned used = 0;
  for (unsigned loop : inner)
    used += map.isFunctionOfDim(loop);
  if (used == 0)
    return Access::Row;
  return used == inner.size() ? Access::Element : Access::Other;
}

/// The identity of `op`: combined with any value, it gives that value.
static TypedAttr identityOf(Operation *op, Type type) {
  Builder builder(op->getContext());
  if (auto floating = dyn_cast<FloatType>(type)) {
    const llvm::fltSemantics &semantics = floating.getFloatSemantics();
    if (isa<arith::AddFOp>(op))
      return builder.getFloatAttr(type, -0.0);
    if (isa<arith::MulFOp>(op))
      return builder.getFloatAttr(type, 1.0);
    if (isa<arith::MaximumFOp, arith::MaxNumFOp>(op))
      return builder.getFloatAttr(
          type, APFloat::getInf(semantics, /*Negative=*/true));
    if (isa<arith::MinimumFOp, arith::MinNumFOp>(op))
      return builder.getFloatAttr(type, APFloat::getInf(semantics));
    return {};
  }
  auto integer = dyn_cast<IntegerType>(type);
  if (!integer)
    return {};
  unsigned width = integer.getWidth();
  if (isa<arith::AddIOp, arith::OrIOp, arith::XOrIOp, arith::MaxUIOp>(op))
    return builder.getIntegerAttr(type, 0);
  if (isa<arith::MulIOp>(op))
    return builder.getIntegerAttr(type, 1);
  if (isa<arith::AndIOp, arith::MinUIOp>(op))
    return builder.getIntegerAttr(type, APInt::getAllOnes(width));
  if (isa<arith::MaxSIOp>(op))
    return builder.getIntegerAttr(type, APInt::getSignedMinValue(width));
  if (isa<arith::MinSIOp>(op))
    return builder.getIntegerAttr(type, APInt::getSignedMaxValue(width));
  return {};
}

Value Combiner::combine(OpBuilder &builder, Value sum, Value term) const {
  IRMapping operands;
  operands.map(op->getOperand(0), sum);
  operands.map(op->getOperand(1), term);
  return builder.clone(*op, operands)->getResult(0);
}

FailureOr<Combiner> matchCombiner(linalg::LinalgOp op, unsigned index) {
  BlockArgument sum = op.getRegionOutputArgs()[index];
  Value made = op.getBlock()->getTerminator()->getOperand(index);
  Operation *combining = made.getDefiningOp();
  if (!combining || combining->getBlock() != op.getBlock() ||
      combining->getNumOperands() != 2 || !sum.hasOneUse() ||
      *sum.user_begin() != combining || !made.hasOneUse())
    return failure();
  TypedAttr identity = identityOf(combining, made.getType());
  if (!identity)
    return failure();
  return Combiner{combining, identity};
}

} // namespace stagewright::device
