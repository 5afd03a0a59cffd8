//===- ComputeSlices.cpp - parts of arrays instead of whole arrays --------===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Each iteration of a recurrence reads one row of an array that is computed
// from the whole input, for example by transposing it. If a body reads only
// slices of such an array, this pattern computes the slices from slices of the
// inputs instead.
//
//===----------------------------------------------------------------------===//

#include "Patterns.h"
#include "mlir/Dialect/Arith/Utils/Utils.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/IR/PatternMatch.h"
#include "stagewright/Conversion/BodiesToKernels/TensorUtils.h"
#include "stagewright/Dialect/LLVM.h"

namespace stagewright::bodies {
namespace {

/// The part of the loops of an elementwise operation that computes a slice of
/// its result. Loop i is dimension i of the result.
struct Part {
  SmallVector<OpFoldResult> offsets;
  SmallVector<int64_t> sizes;
  llvm::SmallBitVector dropped; ///< loops with one iteration, not in the slice

  explicit Part(tensor::ExtractSliceOp slice)
      : offsets(slice.getMixedOffsets()), sizes(slice.getStaticSizes()),
        dropped(slice.getDroppedDims()) {}

  /// The indexing map of an operand or result without the dropped loops.
  AffineMap mapOf(AffineMap map) const {
    MLIRContext *context = map.getContext();
    SmallVector<AffineExpr> loops, kept;
    unsigned count = 0;
    for (unsigned loop = 0; loop < map.getNumDims(); ++loop)
      loops.push_back(dropped[loop] ? getAffineConstantExpr(0, context)
                                    : getAffineDimExpr(count++, context));
    for (AffineExpr expr : map.getResults()) {
      auto dim = dyn_cast<AffineDimExpr>(expr);
      if (!dim || !dropped[dim.getPosition()])
        kept.push_back(expr.replaceDims(loops));
    }
    return AffineMap::get(count, 0, kept, context);
  }

  /// The slice of an input that the part reads, without the dropped loops.
  Value sliceOf(OpBuilder &builder, Location loc, Value input,
                AffineMap map) const {
    auto type = cast<RankedTensorType>(input.getType());
    OpFoldResult zero = builder.getIndexAttr(0), one = builder.getIndexAttr(1);
    SmallVector<OpFoldResult> from, counts;
    SmallVector<int64_t> shape;
    for (auto [expr, extent] :
         llvm::zip_equal(map.getResults(), type.getShape())) {
      auto dim = dyn_cast<AffineDimExpr>(expr);
      int64_t size = dim ? sizes[dim.getPosition()] : extent;
      from.push_back(dim ? offsets[dim.getPosition()] : zero);
      counts.push_back(builder.getIndexAttr(size));
      if (!dim || !dropped[dim.getPosition()])
        shape.push_back(size);
    }
    if (ArrayRef(shape) == type.getShape())
      return input;
    return tensor::ExtractSliceOp::create(
        builder, loc, RankedTensorType::get(shape, type.getElementType()),
        input, from, counts, SmallVector<OpFoldResult>(from.size(), one));
  }
};

/// Computes `slice` of the result of `op`.
Value computeSlice(linalg::GenericOp op, tensor::ExtractSliceOp slice,
                   OpBuilder &builder) {
  Location loc = op.getLoc();
  Part part(slice);
  SmallVector<Value> inputs;
  SmallVector<AffineMap> maps;
  for (OpOperand *input : op.getDpsInputOperands()) {
    AffineMap map = op.getMatchingIndexingMap(input);
    bool isTensor = isa<RankedTensorType>(input->get().getType());
    inputs.push_back(isTensor ? part.sliceOf(builder, loc, input->get(), map)
                              : input->get());
    maps.push_back(part.mapOf(map));
  }
  RankedTensorType type = slice.getType();
  maps.push_back(builder.getMultiDimIdentityMap(unsigned(type.getRank())));
  SmallVector<utils::IteratorType> loops(size_t(type.getRank()),
                                         utils::IteratorType::parallel);
  Value empty = tensor::EmptyOp::create(builder, loc, type.getShape(),
                                        type.getElementType());
  auto body = [&](OpBuilder &inner, Location at, ValueRange arguments) {
    IRMapping mapping;
    mapping.map(op.getBody()->getArguments(), arguments);
    for (Operation &from : *op.getBody()) {
      auto index = dyn_cast<linalg::IndexOp>(from);
      if (!index) {
        inner.clone(from, mapping);
        continue;
      }
      unsigned loop = unsigned(index.getDim());
      Value start =
          getValueOrCreateConstantIndexOp(inner, at, part.offsets[loop]);
      if (!part.dropped[loop]) {
        int64_t before = llvm::count_if(
            part.dropped.set_bits(), [&](unsigned bit) { return bit < loop; });
        start = arith::AddIOp::create(
            inner, at,
            linalg::IndexOp::create(inner, at, int64_t(loop) - before), start);
      }
      mapping.map(index.getResult(), start);
    }
  };
  return linalg::GenericOp::create(builder, loc, type, inputs, empty, maps,
                                   loops, body)
      .getResult(0);
}

struct ComputeSlices : OpRewritePattern<linalg::GenericOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(linalg::GenericOp op,
                                PatternRewriter &rewriter) const override {
    if (!isElementwise(op) || op->use_empty())
      return failure();
    int64_t points = 0;
    for (Operation *user : op->getUsers()) {
      auto slice = dyn_cast<tensor::ExtractSliceOp>(user);
      if (!slice || slice->getBlock() != op->getBlock() ||
          !slice.hasUnitStride() || !slice.getType().hasStaticShape())
        return failure();
      points += slice.getType().getNumElements();
    }
    // If the slices together have more than half of the array's elements, one
    // operation for the whole array is better.
    if (2 * points > pointsOf(op))
      return failure();
    for (Operation *user : llvm::make_early_inc_range(op->getUsers())) {
      auto slice = cast<tensor::ExtractSliceOp>(user);
      rewriter.setInsertionPoint(slice);
      rewriter.replaceOp(slice, computeSlice(op, slice, rewriter));
    }
    rewriter.eraseOp(op);
    return success();
  }
};

} // namespace

void populateComputeSlices(RewritePatternSet &patterns) {
  patterns.add<ComputeSlices>(patterns.getContext());
}

} // namespace stagewright::bodies
