//===- ReadElements.cpp - compute only elements that are read -------------===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A loss reads one log-probability for each token, out of a whole vocabulary;
// an embedding reads rows of a table that was cast to a narrower type. Such an
// array is not written: each element is computed where it is read, from the
// elements that the array was computed from. Scalars, such as the index of the
// row that an iteration of a loop reads, are not written to memory either.
//
//===----------------------------------------------------------------------===//

#include "Patterns.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/IR/PatternMatch.h"
#include "stagewright/Conversion/BodiesToKernels/TensorUtils.h"
#include "stagewright/Dialect/LLVM.h"

namespace stagewright::bodies {
namespace {

/// Computes the element of the result of `op` that `read` reads.
Value computeElement(linalg::GenericOp op, tensor::ExtractOp read,
                     OpBuilder &builder) {
  Location loc = read.getLoc();
  IRMapping mapping;
  for (OpOperand *input : op.getDpsInputOperands()) {
    BlockArgument argument = op.getMatchingBlockArgument(input);
    if (argument.use_empty())
      continue;
    if (!isa<RankedTensorType>(input->get().getType())) {
      mapping.map(argument, input->get());
      continue;
    }
    SmallVector<Value> indices;
    for (AffineExpr expr : op.getMatchingIndexingMap(input).getResults()) {
      auto dim = dyn_cast<AffineDimExpr>(expr);
      indices.push_back(
          dim ? read.getIndices()[dim.getPosition()]
              : Value(arith::ConstantIndexOp::create(builder, loc, 0)));
    }
    mapping.map(argument,
                tensor::ExtractOp::create(builder, loc, input->get(), indices));
  }
  for (Operation &inner : op.getBody()->without_terminator())
    if (auto index = dyn_cast<linalg::IndexOp>(inner))
      mapping.map(index.getResult(), read.getIndices()[index.getDim()]);
    else
      builder.clone(inner, mapping);
  return mapping.lookupOrDefault(op.getBody()->getTerminator()->getOperand(0));
}

struct ComputeWhereRead : OpRewritePattern<linalg::GenericOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(linalg::GenericOp op,
                                PatternRewriter &rewriter) const override {
    if (!isElementwise(op) || op->use_empty())
      return failure();
    bool isScalar = op.getNumLoops() == 0;
    int64_t reads = 0;
    for (Operation *user : op->getUsers()) {
      if (!isa<tensor::ExtractOp>(user))
        return failure();
      auto reader = dyn_cast<linalg::GenericOp>(user->getParentOp());
      bool counts = reader && reader->getBlock() == op->getBlock() &&
                    !reader.hasDynamicShape();
      if (!counts && !isScalar)
        return failure();
      reads += counts ? pointsOf(reader) : 1;
    }
    if (reads > pointsOf(op) && !isScalar)
      return failure();
    for (Operation *user : llvm::make_early_inc_range(op->getUsers())) {
      auto read = cast<tensor::ExtractOp>(user);
      rewriter.setInsertionPoint(read);
      rewriter.replaceOp(read, computeElement(op, read, rewriter));
    }
    rewriter.eraseOp(op);
    return success();
  }
};

} // namespace

void populateReadElements(RewritePatternSet &patterns) {
  patterns.add<ComputeWhereRead>(patterns.getContext());
}

} // namespace stagewright::bodies
