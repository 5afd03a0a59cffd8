//===- SimplifyUnits.cpp - dimensions of extent 1 -------------------------===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Frameworks keep reduced dimensions with extent 1, add and drop such
// dimensions by reshapes, and sum over them in the gradient of a broadcast.
// Each of these operations keeps its neighbours from being fused.
//
//===----------------------------------------------------------------------===//

#include "Patterns.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/Matchers.h"
#include "mlir/IR/PatternMatch.h"
#include "stagewright/Conversion/BodiesToKernels/TensorUtils.h"
#include "stagewright/Dialect/LLVM.h"

namespace stagewright::bodies {
namespace {

/// Whether every loop is, by itself, the index of a dimension of some operand,
/// so that its extent is known.
bool boundsEveryLoop(ArrayRef<AffineMap> maps) {
  llvm::SmallBitVector bound(maps[0].getNumDims());
  for (AffineMap map : maps)
    for (AffineExpr expr : map.getResults())
      if (auto dim = dyn_cast<AffineDimExpr>(expr))
        bound.set(dim.getPosition());
  return bound.all();
}

/// Removes reduction loops of extent 1.
struct DropUnitSums : OpRewritePattern<linalg::GenericOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(linalg::GenericOp op,
                                PatternRewriter &rewriter) const override {
    if (!op.hasPureTensorSemantics() || op.hasDynamicShape())
      return failure();
    SmallVector<int64_t> ranges = op.getStaticLoopRanges();
    auto iterators = op.getIteratorTypesArray();
    SmallVector<AffineMap> maps = op.getIndexingMapsArray();
    auto results = ArrayRef(maps).take_back(op.getNumDpsInits());
    SmallVector<int64_t> places; // new number of each loop, or -1
    SmallVector<utils::IteratorType> kept;
    for (auto [dim, range] : llvm::enumerate(ranges)) {
      bool dropped = iterators[dim] == utils::IteratorType::reduction &&
                     range == 1 && llvm::none_of(results, [&](AffineMap map) {
                       return map.isFunctionOfDim(dim);
                     });
      places.push_back(dropped ? -1 : int64_t(kept.size()));
      if (!dropped)
        kept.push_back(iterators[dim]);
    }
    if (kept.size() == ranges.size())
      return failure();
    MLIRContext *context = op.getContext();
    SmallVector<AffineExpr> dims;
    for (int64_t place : places)
      dims.push_back(place < 0 ? getAffineConstantExpr(0, context)
                               : getAffineDimExpr(place, context));
    for (AffineMap &map : maps)
      map = map.replaceDimsAndSymbols(dims, {}, kept.size(), 0);
    if (!kept.empty() && !boundsEveryLoop(maps))
      return failure();

    auto simple =
        linalg::GenericOp::create(rewriter, op.getLoc(), op.getResultTypes(),
                                  op.getInputs(), op.getOutputs(), maps, kept);
    rewriter.inlineRegionBefore(op.getRegion(), simple.getRegion(),
                                simple.getRegion().begin());
    simple.walk([&](linalg::IndexOp index) {
      rewriter.setInsertionPoint(index);
      int64_t place = places[index.getDim()];
      if (place < 0)
        rewriter.replaceOpWithNewOp<arith::ConstantIndexOp>(index, 0);
      else
        rewriter.modifyOpInPlace(index, [&] { index.setDim(place); });
    });
    rewriter.replaceOp(op, simple.getResults());
    return success();
  }
};

/// Makes an elementwise operation on a filled initial value read the scalar
/// instead, and drops the addition of a zero (which changes at most the sign of
/// a zero).
struct StartFromNumber : OpRewritePattern<linalg::GenericOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(linalg::GenericOp op,
                                PatternRewriter &rewriter) const override {
    if (op.getNumReductionLoops() != 0 || !op.hasPureTensorSemantics())
      return failure();
    bool changed = false;
    for (OpOperand &init : op.getDpsInitsMutable()) {
      auto fill = init.get().getDefiningOp<linalg::FillOp>();
      BlockArgument element = op.getMatchingBlockArgument(&init);
      auto type = cast<RankedTensorType>(init.get().getType());
      if (!fill || element.use_empty() || !type.hasStaticShape())
        continue;
      rewriter.setInsertionPoint(op);
      Value empty = tensor::EmptyOp::create(
          rewriter, op.getLoc(), type.getShape(), type.getElementType());
      // An addition may use it twice.
      llvm::SmallSetVector<Operation *, 4> users(element.user_begin(),
                                                 element.user_end());
      for (Operation *user : users)
        if (auto add = dyn_cast<arith::AddFOp>(user);
            add && matchPattern(fill.getInputs()[0], m_AnyZeroFloat()))
          rewriter.replaceOp(add, add.getLhs() == element ? add.getRhs()
                                                          : add.getLhs());
      rewriter.modifyOpInPlace(op, [&] {
        rewriter.replaceAllUsesWith(element, fill.getInputs()[0]);
        init.set(empty);
      });
      changed = true;
    }
    return success(changed);
  }
};

/// Reads through a reshape that only adds or drops dimensions of extent one.
struct ReadThroughUnits : OpRewritePattern<linalg::GenericOp> {
  using OpRewritePattern::OpRewritePattern;

  /// The map from loops to indices of the reshaped tensor's source, or null.
  static AffineMap mapOfSource(Operation *reshape, AffineMap map) {
    auto source = dyn_cast<RankedTensorType>(reshape->getOperand(0).getType());
    auto result = dyn_cast<RankedTensorType>(reshape->getResult(0).getType());
    bool expands = isa<tensor::ExpandShapeOp>(reshape);
    auto groups =
        expands
            ? cast<tensor::ExpandShapeOp>(reshape).getReassociationIndices()
            : cast<tensor::CollapseShapeOp>(reshape).getReassociationIndices();
    ArrayRef<int64_t> shape = (expands ? result : source).getShape();
    SmallVector<AffineExpr> exprs(source.getRank(),
                                  getAffineConstantExpr(0, map.getContext()));
    for (auto [i, group] : llvm::enumerate(groups)) {
      int64_t place = group.front(); // dimension with extent > 1, if any
      for (int64_t dim : group) {
        if (shape[dim] == 1 || dim == place)
          continue;
        if (shape[place] != 1)
          return {};
        place = dim;
      }
      if (expands)
        exprs[i] = map.getResult(place);
      else
        exprs[place] = map.getResult(i);
    }
    return AffineMap::get(map.getNumDims(), 0, exprs, map.getContext());
  }

  LogicalResult matchAndRewrite(linalg::GenericOp op,
                                PatternRewriter &rewriter) const override {
    if (!op.hasPureTensorSemantics() || op.hasDynamicShape())
      return failure();
    for (OpOperand *input : op.getDpsInputOperands()) {
      Operation *reshape = input->get().getDefiningOp();
      if (!isa_and_nonnull<tensor::ExpandShapeOp, tensor::CollapseShapeOp>(
              reshape) ||
          cast<RankedTensorType>(reshape->getOperand(0).getType()).getRank() ==
              0 ||
          cast<RankedTensorType>(reshape->getResult(0).getType()).getRank() ==
              0)
        continue;
      SmallVector<AffineMap> maps = op.getIndexingMapsArray();
      AffineMap &map = maps[input->getOperandNumber()];
      map = mapOfSource(reshape, map);
      if (!map || !boundsEveryLoop(maps))
        continue;
      rewriter.modifyOpInPlace(op, [&] {
        input->set(reshape->getOperand(0));
        op.setIndexingMapsAttr(rewriter.getAffineMapArrayAttr(maps));
      });
      return success();
    }
    return failure();
  }
};

/// Replaces a copy that only drops dimensions of extent 1 by a reshape. The
/// patterns that add the copy to a gradient can see through reshapes.
struct CopyIsReshape : OpRewritePattern<linalg::GenericOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(linalg::GenericOp op,
                                PatternRewriter &rewriter) const override {
    if (!op.hasPureTensorSemantics() || op.hasDynamicShape() ||
        op.getNumDpsInputs() != 1 || op->getNumResults() != 1 ||
        op.getNumReductionLoops() != 0 ||
        op.getBody()->getTerminator()->getOperand(0) !=
            op.getBody()->getArgument(0) ||
        !op.getIndexingMapsArray()[1].isIdentity())
      return failure();
    // The source dimensions of each dimension of the copy: its own with those
    // of extent 1 before it; for the last also those after it.
    SmallVector<ReassociationIndices> groups;
    ReassociationIndices open;
    unsigned loops = 0;
    for (auto [dim, expr] :
         llvm::enumerate(op.getIndexingMapsArray()[0].getResults())) {
      open.push_back(int64_t(dim));
      if (isa<AffineConstantExpr>(expr))
        continue;
      auto loop = dyn_cast<AffineDimExpr>(expr);
      if (!loop || loop.getPosition() != loops++)
        return failure();
      groups.push_back(std::exchange(open, {}));
    }
    if (groups.empty() || loops != op.getNumLoops())
      return failure();
    groups.back().append(open);
    auto source = cast<RankedTensorType>(op.getInputs()[0].getType());
    auto result = cast<RankedTensorType>(op->getResult(0).getType());
    if (source.getNumElements() != result.getNumElements() ||
        source.getRank() == result.getRank())
      return failure();
    rewriter.replaceOpWithNewOp<tensor::CollapseShapeOp>(
        op, result, op.getInputs()[0], groups);
    return success();
  }
};

} // namespace

void populateSimplifyUnitSums(RewritePatternSet &patterns) {
  patterns.add<DropUnitSums, StartFromNumber, CopyIsReshape>(
      patterns.getContext(), /*benefit=*/2);
}

void populateSimplifyUnits(RewritePatternSet &patterns) {
  populateSimplifyUnitSums(patterns);
  patterns.add<ReadThroughUnits>(patterns.getContext(), /*benefit=*/2);
}

} // namespace stagewright::bodies
