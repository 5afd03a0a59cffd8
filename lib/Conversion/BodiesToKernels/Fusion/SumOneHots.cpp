//===- SumOneHots.cpp - sums with one nonzero term ------------------------===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The gradient of a token's loss sums an array that is zero except in the
// column of the token's target: the loop over the vocabulary adds one number
// and zeros. The sum is bit for bit that number if the column exists, else 0.
//
//===----------------------------------------------------------------------===//

#include "Patterns.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/IR/Matchers.h"
#include "mlir/IR/PatternMatch.h"
#include "stagewright/Conversion/BodiesToKernels/TensorUtils.h"
#include "stagewright/Dialect/LLVM.h"

namespace stagewright::bodies {
namespace {

bool isZeroScalar(Value value) {
  return matchPattern(value, m_AnyZeroFloat()) || matchPattern(value, m_Zero());
}

/// Whether `value` is zero, of either sign, where `condition` is false.
bool isZeroUnless(Value value, Value condition) {
  if (auto choice = value.getDefiningOp<arith::SelectOp>())
    return choice.getCondition() == condition &&
           isZeroScalar(choice.getFalseValue());
  Operation *maker = value.getDefiningOp();
  return maker && isa<arith::NegFOp, arith::ExtFOp, arith::TruncFOp>(maker) &&
         isZeroUnless(maker->getOperand(0), condition);
}

/// A sum over a loop whose terms are zero except in one iteration, the hot one.
struct OneHotSum {
  linalg::IndexOp index; ///< the index of the loop
  int64_t loop = -1;     ///< the loop, of `extent` iterations
  int64_t extent = 0;
  arith::CmpIOp isHot;      ///< whether `index` equals `hot`
  Value hot;                ///< the hot index; none if not in [0, extent)
  OpOperand *sum = nullptr; ///< initial value of the sum

  static FailureOr<OneHotSum> get(linalg::GenericOp op);
};

/// The loop index that `value` is, perhaps cast, if it has no other use.
linalg::IndexOp indexOf(Value value) {
  while (auto cast = value.getDefiningOp<arith::IndexCastOp>()) {
    if (!cast->hasOneUse())
      return {};
    value = cast.getIn();
  }
  auto index = value.getDefiningOp<linalg::IndexOp>();
  return index && index->hasOneUse() ? index : linalg::IndexOp();
}

FailureOr<OneHotSum> OneHotSum::get(linalg::GenericOp op) {
  OneHotSum found;
  if (!op.hasPureTensorSemantics() || op.hasDynamicShape())
    return failure();
  for (OpOperand &init : op.getDpsInitsMutable()) {
    // An unused result only gives the extent of the loop.
    if (op.getTiedOpResult(&init).use_empty())
      continue;
    if (found.sum)
      return failure();
    found.sum = &init;
  }
  if (!found.sum)
    return failure();
  BlockArgument soFar = op.getMatchingBlockArgument(found.sum);
  Operation *add = op.getMatchingYieldValue(found.sum)->get().getDefiningOp();
  if (!add || !isa<arith::AddFOp>(add) || !soFar.hasOneUse() ||
      *soFar.user_begin() != add)
    return failure();
  Value term = add->getOperand(add->getOperand(0) == soFar ? 1 : 0);
  for (auto equal : op.getBody()->getOps<arith::CmpIOp>()) {
    linalg::IndexOp index = indexOf(equal.getLhs());
    found.hot = index ? equal.getRhs() : equal.getLhs();
    index = index ? index : indexOf(equal.getRhs());
    if (!index || equal.getPredicate() != arith::CmpIPredicate::eq ||
        !isZeroUnless(term, equal.getResult()))
      continue;
    found.isHot = equal;
    found.index = index;
    found.loop = index.getDim();
    found.extent = op.getStaticLoopRanges()[found.loop];
    break;
  }
  auto kinds = op.getIteratorTypesArray();
  if (!found.isHot || kinds[found.loop] != utils::IteratorType::reduction ||
      (found.hot.getType().isInteger() &&
       !llvm::isIntN(found.hot.getType().getIntOrFloatBitWidth() - 1,
                     found.extent)))
    return failure();
  // All operands that the body reads must be the same in every iteration.
  for (OpOperand &operand : op->getOpOperands())
    if (!op.getMatchingBlockArgument(&operand).use_empty() &&
        op.getMatchingIndexingMap(&operand).isFunctionOfDim(found.loop))
      return failure();
  for (auto index : op.getBody()->getOps<linalg::IndexOp>())
    if (int64_t(index.getDim()) == found.loop && index != found.index)
      return failure();
  return found;
}

/// The scalar that all elements of `tensor` equal, or null.
Value filledWith(Value tensor) {
  if (auto fill = tensor.getDefiningOp<linalg::FillOp>())
    return fill.getInputs()[0];
  auto generic = tensor.getDefiningOp<linalg::GenericOp>();
  if (!generic || generic->getNumResults() != 1 ||
      !llvm::hasSingleElement(*generic.getBody()))
    return {};
  Value number = generic.getBody()->getTerminator()->getOperand(0);
  return generic.getRegion().isAncestor(number.getParentRegion()) ? Value()
                                                                  : number;
}

struct FoldOneHotSum : OpRewritePattern<linalg::GenericOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(linalg::GenericOp op,
                                PatternRewriter &rewriter) const override {
    FailureOr<OneHotSum> found = OneHotSum::get(op);
    if (failed(found))
      return failure();
    // If all sums start from one number, the body uses this scalar.
    Value start = filledWith(found->sum->get());
    SmallVector<AffineExpr> dims;
    for (int64_t dim = 0; dim < int64_t(op.getNumLoops()); ++dim)
      dims.push_back(dim == found->loop ? rewriter.getAffineConstantExpr(0)
                                        : rewriter.getAffineDimExpr(
                                              dim - (dim > found->loop)));
    SmallVector<AffineMap> maps;
    SmallVector<Value> inputs;
    SmallVector<BlockArgument> arguments;
    auto take = [&](OpOperand &operand) {
      maps.push_back(op.getMatchingIndexingMap(&operand).replaceDimsAndSymbols(
          dims, {}, op.getNumLoops() - 1, 0));
      arguments.push_back(op.getMatchingBlockArgument(&operand));
    };
    for (OpOperand *input : op.getDpsInputOperands())
      if (!op.getMatchingBlockArgument(input).use_empty()) {
        take(*input);
        inputs.push_back(input->get());
      }
    take(*found->sum);
    if (op.getNumLoops() > 1 &&
        !inversePermutation(concatAffineMaps(maps, op.getContext())))
      return failure(); // Another loop would lose its extent.
    auto kinds = op.getIteratorTypesArray();
    kinds.erase(kinds.begin() + found->loop);
    Location loc = op.getLoc();
    Value init = found->sum->get();
    if (start)
      init = tensor::EmptyOp::create(
          rewriter, loc, cast<RankedTensorType>(init.getType()).getShape(),
          getElementTypeOrSelf(init));
    auto made = linalg::GenericOp::create(
        rewriter, loc, init.getType(), inputs, init, maps, kinds,
        [&](OpBuilder &builder, Location, ValueRange values) {
          IRMapping mapping;
          for (auto [from, to] : llvm::zip_equal(arguments, values))
            mapping.map(from, to);
          if (start)
            mapping.map(arguments.back(), start);
          write(builder, op, *found, mapping);
        });
    rewriter.replaceAllUsesWith(op.getTiedOpResult(found->sum),
                                made.getResult(0));
    rewriter.eraseOp(op);
    return success();
  }

  /// Writes the body of `op` for the hot iteration.
  static void write(OpBuilder &builder, linalg::GenericOp op, OneHotSum &found,
                    IRMapping &mapping) {
    for (Operation &inner : op.getBody()->without_terminator()) {
      if (auto index = dyn_cast<linalg::IndexOp>(inner)) {
        int64_t dim = index.getDim();
        mapping.map(index.getResult(),
                    linalg::IndexOp::create(builder, op.getLoc(),
                                            dim - (dim > found.loop))
                        .getResult());
        continue;
      }
      if (&inner != found.isHot) {
        builder.clone(inner, mapping);
        continue;
      }
      // An unsigned comparison excludes negative numbers as well.
      Value turns = arith::ConstantOp::create(
          builder, op.getLoc(),
          builder.getIntegerAttr(found.hot.getType(), found.extent));
      mapping.map(
          found.isHot.getResult(),
          arith::CmpIOp::create(builder, op.getLoc(), arith::CmpIPredicate::ult,
                                mapping.lookupOrDefault(found.hot), turns)
              .getResult());
    }
    Value sum = op.getMatchingYieldValue(found.sum)->get();
    linalg::YieldOp::create(builder, op.getLoc(), mapping.lookup(sum));
  }
};

} // namespace

void populateSumOneHots(RewritePatternSet &patterns) {
  patterns.add<FoldOneHotSum>(patterns.getContext());
}

} // namespace stagewright::bodies
