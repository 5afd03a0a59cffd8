//===- ArrangeBytes.cpp - operands of 8 bits for the library --------------===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "../RankToHost/Contractions/ContractionDims.h"
#include "mlir/Dialect/Linalg/Utils/Utils.h"
#include "stagewright/Conversion/RankToDevice/Passes.h"

using namespace mlir;

namespace stagewright::device {
#define GEN_PASS_DEF_DEVICEARRANGEBYTES
#include "stagewright/Conversion/RankToDevice/Passes.h.inc"

namespace {

/// The dimensions of `map`'s results that are in `some`, in order.
SmallVector<unsigned> dimsIn(AffineMap map, ArrayRef<unsigned> some) {
  SmallVector<unsigned> dims;
  for (unsigned i = 0; i < map.getNumResults(); ++i)
    if (llvm::is_contained(some, map.getDimPosition(i)))
      dims.push_back(map.getDimPosition(i));
  return dims;
}

struct DeviceArrangeBytesPass
    : impl::DeviceArrangeBytesBase<DeviceArrangeBytesPass> {
  void runOnOperation() override {
    if (!host::isBody(getOperation()))
      return;
    SmallVector<linalg::ContractOp> products;
    for (auto op : getOperation().front().getOps<linalg::ContractOp>())
      if (getElementTypeOrSelf(op->getOperand(0)).getIntOrFloatBitWidth() == 8)
        products.push_back(op);
    for (linalg::ContractOp op : products) {
      SmallVector<AffineMap> maps = op.getIndexingMapsArray();
      host::ContractionDims dims = host::ContractionDims::get(maps);
      // Rows and columns in the order of the result, terms in that of A.
      SmallVector<unsigned> sum = dimsIn(maps[0], dims.k);
      arrange(op, 0, dimsIn(maps[2], dims.m), sum);
      arrange(op, 1, dimsIn(maps[2], dims.n), sum);
    }
  }

  void arrange(linalg::ContractOp op, unsigned number,
               SmallVector<unsigned> order, ArrayRef<unsigned> sum) {
    llvm::append_range(order, sum);
    SmallVector<AffineMap> maps = op.getIndexingMapsArray();
    AffineMap &map = maps[number];
    SmallVector<int64_t> from; // of each place, the dimension of the operand
    for (unsigned dim : order)
      from.push_back(
          *map.getResultPosition(getAffineDimExpr(dim, &getContext())));
    if (llvm::is_sorted(from))
      return;
    Value operand = op->getOperand(number);
    auto type = cast<RankedTensorType>(operand.getType());
    OpBuilder builder(op);
    SmallVector<int64_t> shape;
    SmallVector<AffineExpr> results;
    for (int64_t dim : from) {
      shape.push_back(type.getDimSize(unsigned(dim)));
      results.push_back(builder.getAffineDimExpr(unsigned(dim)));
    }
    auto written =
        AffineMap::get(unsigned(type.getRank()), 0, results, &getContext());
    Value arranged = write(operand, shape, written, builder);
    SmallVector<AffineExpr> own;
    for (unsigned dim : order)
      own.push_back(builder.getAffineDimExpr(dim));
    map = AffineMap::get(map.getNumDims(), 0, own, &getContext());
    op->setOperand(number, arranged);
    op.setIndexingMapsAttr(builder.getAffineMapArrayAttr(maps));
    ++numArranged;
  }

  /// `operand` with its elements at the places that `map` says, by what makes
  /// it where nothing else reads it.
  Value write(Value operand, ArrayRef<int64_t> shape, AffineMap map,
              OpBuilder &builder) {
    Location loc = operand.getLoc();
    Type element = getElementTypeOrSelf(operand.getType());
    auto maker = operand.getDefiningOp<linalg::GenericOp>();
    if (maker && operand.hasOneUse() && maker->getNumResults() == 1 &&
        maker.getNumReductionLoops() == 0 &&
        maker.getIndexingMapsArray().back().isIdentity() &&
        maker.getMatchingBlockArgument(maker.getDpsInitOperand(0))
            .use_empty()) {
      builder.setInsertionPoint(maker);
      Value empty = tensor::EmptyOp::create(builder, loc, shape, element);
      SmallVector<AffineMap> maps = maker.getIndexingMapsArray();
      maps.back() = map;
      maker.getDpsInitOperand(0)->set(empty);
      maker.setIndexingMapsAttr(builder.getAffineMapArrayAttr(maps));
      maker->getResult(0).setType(cast<RankedTensorType>(empty.getType()));
      return operand;
    }
    Value empty = tensor::EmptyOp::create(builder, loc, shape, element);
    SmallVector<AffineMap> maps = {
        builder.getMultiDimIdentityMap(map.getNumDims()), map};
    SmallVector<utils::IteratorType> loops(map.getNumDims(),
                                           utils::IteratorType::parallel);
    return linalg::GenericOp::create(
               builder, loc, empty.getType(), operand, empty, maps, loops,
               [](OpBuilder &inner, Location at, ValueRange values) {
                 linalg::YieldOp::create(inner, at, values[0]);
               })
        .getResult(0);
  }
};

} // namespace
} // namespace stagewright::device
