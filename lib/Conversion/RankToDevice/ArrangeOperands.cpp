//===- ArrangeOperands.cpp - products in the layouts of the library -------===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "UnrollLoops.h"
#include "mlir/Dialect/Linalg/Utils/Utils.h"
#include "stagewright/Conversion/BodiesToKernels/ProductLoops.h"
#include "stagewright/Conversion/BodiesToKernels/TensorUtils.h"
#include "stagewright/Conversion/RankToDevice/Passes.h"

namespace stagewright::device {
#define GEN_PASS_DEF_DEVICEARRANGEOPERANDS
#include "stagewright/Conversion/RankToDevice/Passes.h.inc"

namespace {

/// The dimensions in the results of `map` that are also in `some`, in order.
SmallVector<unsigned> dimsIn(AffineMap map, ArrayRef<unsigned> some) {
  SmallVector<unsigned> dims;
  for (unsigned i = 0; i < map.getNumResults(); ++i)
    if (llvm::is_contained(some, map.getDimPosition(i)))
      dims.push_back(map.getDimPosition(i));
  return dims;
}

bool isOfBytes(linalg::ContractOp op) {
  return getElementTypeOrSelf(op->getOperand(0)).getIntOrFloatBitWidth() == 8;
}

/// Whether the library accepts a matrix with these extents and strides: one
/// dimension has stride 1, and the stride of the other is at least the extent
/// of the first.
bool isMatrix(const bodies::Loop &rows, const bodies::Loop &columns,
              int operand) {
  int64_t row = rows.stride[operand], column = columns.stride[operand];
  bool tall = row == 1 || rows.extent == 1;
  bool wide = column == 1 || columns.extent == 1;
  return (tall && (columns.extent == 1 || column >= rows.extent)) ||
         (wide && (rows.extent == 1 || row >= columns.extent));
}

/// Whether the library accepts A, B and C in their present layouts.
std::array<bool, 3> areMatrices(linalg::ContractOp op) {
  SmallVector<AffineMap> maps = op.getIndexingMapsArray();
  SmallVector<bodies::Loop> loops(maps[0].getNumDims(), {1, {0, 0, 0}});
  for (int operand = 0; operand < 3; ++operand) {
    auto type = cast<RankedTensorType>(op->getOperand(operand).getType());
    int64_t stride = 1;
    for (int64_t i = type.getRank(); i-- > 0;) {
      bodies::Loop &loop = loops[maps[operand].getDimPosition(unsigned(i))];
      loop.extent = type.getDimSize(unsigned(i));
      loop.stride[operand] = stride;
      stride *= loop.extent;
    }
  }
  bodies::Nest nest =
      bodies::Nest::get(bodies::ContractionDims::get(maps), loops);
  bodies::Loop rows = bodies::takeLongest(nest.m),
               columns = bodies::takeLongest(nest.n),
               sum = bodies::takeLongest(nest.k);
  return {isMatrix(rows, sum, 0), isMatrix(sum, columns, 1),
          isMatrix(rows, columns, 2)};
}

bool isTaken(linalg::ContractOp op) {
  return llvm::all_of(areMatrices(op), [](bool is) { return is; });
}

struct DeviceArrangeOperandsPass
    : impl::DeviceArrangeOperandsBase<DeviceArrangeOperandsPass> {
  void runOnOperation() override {
    if (!bodies::isBody(getOperation()))
      return;
    for (linalg::ContractOp op : launchedProducts(getOperation())) {
      SmallVector<AffineMap> maps = op.getIndexingMapsArray();
      bodies::ContractionDims dims = bodies::ContractionDims::get(maps);
      if (!dims.complete || (!isOfBytes(op) && isTaken(op)))
        continue;
      // Batches, rows and columns in the order of the result, terms in that of
      // A. Dimensions of one kind that are then adjacent in all operands that
      // have them become one loop of the library's call (ProductLoops.h).
      SmallVector<unsigned> batch = dimsIn(maps[2], dims.batch);
      auto behindBatch = [&](ArrayRef<unsigned> some) {
        SmallVector<unsigned> list = batch;
        llvm::append_range(list, some);
        return list;
      };
      SmallVector<unsigned> rows = behindBatch(dimsIn(maps[2], dims.m)),
                            sum = dimsIn(maps[0], dims.k);
      SmallVector<unsigned> columns = behindBatch(dimsIn(maps[2], dims.n));
      // Both operands of 8-bit floats are arranged, others only if they do not
      // fit.
      std::array<bool, 3> fits = {};
      if (!isOfBytes(op))
        fits = areMatrices(op);
      if (!isOfBytes(op) && !fits[2]) {
        SmallVector<unsigned> result = rows;
        llvm::append_range(result, dimsIn(maps[2], dims.n));
        op = arrangeResult(op, result);
        fits = areMatrices(op);
      }
      if (!fits[0])
        arrange(op, 0, rows, sum);
      if (!fits[1])
        arrange(op, 1, columns, sum);
      if (!isOfBytes(op) && !isTaken(op)) {
        arrange(op, 0, rows, sum);
        arrange(op, 1, columns, sum);
      }
    }
  }

  /// Creates the product with the dimensions of its result in `order`, and the
  /// transpose back to the original order.
  linalg::ContractOp arrangeResult(linalg::ContractOp op,
                                   ArrayRef<unsigned> order) {
    SmallVector<AffineMap> maps = op.getIndexingMapsArray();
    auto type = cast<RankedTensorType>(op->getResult(0).getType());
    Value init = op.getDpsInits()[0];
    OpBuilder builder(op);
    Location loc = op.getLoc();
    SmallVector<int64_t> shape;
    SmallVector<AffineExpr> own, places;
    for (unsigned dim : order) {
      unsigned place =
          *maps[2].getResultPosition(getAffineDimExpr(dim, &getContext()));
      shape.push_back(type.getDimSize(place));
      places.push_back(builder.getAffineDimExpr(place));
      own.push_back(builder.getAffineDimExpr(dim));
    }
    maps[2] = AffineMap::get(maps[2].getNumDims(), 0, own, &getContext());
    Type element = type.getElementType();
    auto made = linalg::ContractOp::create(
        builder, loc, TypeRange{RankedTensorType::get(shape, element)},
        op.getInputs(),
        ValueRange{bodies::createZero(builder, loc,
                                      RankedTensorType::get(shape, element))},
        builder.getAffineMapArrayAttr(maps));
    bool adds = !bodies::isZero(init);
    if (!adds)
      init = tensor::EmptyOp::create(builder, loc, type.getShape(), element);
    auto rank = unsigned(type.getRank());
    SmallVector<AffineMap> back = {
        AffineMap::get(rank, 0, places, &getContext()),
        builder.getMultiDimIdentityMap(rank)};
    SmallVector<utils::IteratorType> loops(rank, utils::IteratorType::parallel);
    auto result = linalg::GenericOp::create(
        builder, loc, type, made.getResult(0), init, back, loops,
        [&](OpBuilder &inner, Location at, ValueRange values) {
          Value value = values[0];
          if (adds)
            value = arith::AddFOp::create(inner, at, values[1], value);
          linalg::YieldOp::create(inner, at, value);
        });
    op->getResult(0).replaceAllUsesWith(result.getResult(0));
    op->erase();
    ++numArranged;
    return made;
  }

  void arrange(linalg::ContractOp op, unsigned number,
               SmallVector<unsigned> order, ArrayRef<unsigned> sum) {
    llvm::append_range(order, sum);
    SmallVector<AffineMap> maps = op.getIndexingMapsArray();
    AffineMap &map = maps[number];
    SmallVector<int64_t> from; // by new dimension: that of the operand
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

  /// Writes `operand` in the layout of `map`: in the operation that makes
  /// `operand`, if nothing else reads it and that operation allows it, else as
  /// a copy.
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
