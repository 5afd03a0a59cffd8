//===- FoldAccumulation.cpp - accumulate gradients in place ---------------===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Patterns.h"
#include "RowAdditions.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Transforms/GreedyPatternRewriteDriver.h"
#include "stagewright/Conversion/BodiesToKernels/Passes.h"
#include "stagewright/Conversion/BodiesToKernels/TensorUtils.h"
#include "stagewright/Dialect/Rank/IR/Rank.h"

namespace stagewright::bodies {
#define GEN_PASS_DEF_BODYFOLDACCUMULATION
#include "stagewright/Conversion/BodiesToKernels/Passes.h.inc"

namespace {

/// The array that `value` widens, if it has no other use; else null.
Value withoutWidening(Value value) {
  auto cast = value.getDefiningOp<linalg::GenericOp>();
  if (!cast || cast.getNumDpsInputs() != 1 || cast->getNumResults() != 1 ||
      !llvm::all_of(cast.getIndexingMapsArray(),
                    [](AffineMap map) { return map.isIdentity(); }))
    return {};
  auto widened = cast.getBody()
                     ->getTerminator()
                     ->getOperand(0)
                     .getDefiningOp<arith::ExtFOp>();
  Value source = cast.getDpsInputs()[0];
  return widened && widened.getIn() == cast.getRegionInputArgs()[0] &&
                 source.hasOneUse()
             ? source
             : Value();
}

struct BodyFoldAccumulationPass
    : impl::BodyFoldAccumulationBase<BodyFoldAccumulationPass> {
  using BodyFoldAccumulationBase::BodyFoldAccumulationBase;

  /// A value equal to `sum + addend` that needs no separate addition, or null.
  /// `sum` must dominate the operation that makes `addend`: it is an argument
  /// of the function or of a loop, or computed from one.
  Value fold(Value sum, Value addend, OpBuilder &builder) {
    if (isZero(addend))
      return sum;
    Operation *maker = addend.getDefiningOp();
    if (!maker || !addend.hasOneUse())
      return {};
    // The operation that makes the addend must come after the sum so far.
    Operation *before = sum.getDefiningOp();
    if (sum.getParentBlock() != maker->getBlock() ||
        (before && maker->isBeforeInBlock(before)))
      return {};
    if (isa<tensor::ExpandShapeOp, tensor::CollapseShapeOp>(maker)) {
      Value source = maker->getOperand(0);
      Value reshaped = unreshape(sum, maker, builder);
      Value folded = fold(reshaped, source, builder);
      if (!folded) {
        reshaped.getDefiningOp()->erase();
        return {};
      }
      maker->setOperand(0, folded);
      return addend;
    }
    if (auto contract = dyn_cast<linalg::ContractOp>(maker)) {
      if (!isZero(contract.getOutputs()[0]) ||
          sum.getType() != addend.getType())
        return {};
      contract.getOutputsMutable().assign(sum);
      return addend;
    }
    if (auto convolution = dyn_cast<rank::ContractOp>(maker)) {
      if (convolution.overwrites() || !isZero(convolution.getWritten()) ||
          sum.getType() != addend.getType())
        return {};
      convolution.getWrittenMutable().assign(sum);
      return addend;
    }
    if (Value narrow = withoutWidening(addend)) {
      Value folded = narrow.getDefiningOp<scf::ForOp>()
                         ? fold(sum, narrow, builder)
                         : Value();
      if (folded) {
        addend.replaceAllUsesWith(folded);
        maker->erase();
      }
      return folded;
    }
    if (auto generic = dyn_cast<linalg::GenericOp>(maker)) {
      if (generic.getNumReductionLoops() != 0 && matchAddToInit(generic) &&
          isZero(generic.getDpsInits()[0])) {
        generic.setDpsInitOperand(0, sum);
        return addend;
      }
      return {};
    }
    if (auto loop = dyn_cast<scf::ForOp>(maker)) {
      auto rows = RowAdditions::match(loop);
      return rows && isZero(rows->start()) ? rows->addTo(sum) : Value();
    }
    return {};
  }

  Value unreshape(Value sum, Operation *reshape, OpBuilder &builder) {
    builder.setInsertionPointAfterValue(sum);
    auto source = cast<RankedTensorType>(reshape->getOperand(0).getType());
    if (auto expand = dyn_cast<tensor::ExpandShapeOp>(reshape))
      return tensor::CollapseShapeOp::create(builder, reshape->getLoc(), source,
                                             sum,
                                             expand.getReassociationIndices());
    auto collapse = cast<tensor::CollapseShapeOp>(reshape);
    return tensor::ExpandShapeOp::create(builder, reshape->getLoc(), source,
                                         sum,
                                         collapse.getReassociationIndices());
  }

  Value updateInPlace(Operation *add, Value sum, Value addend,
                      OpBuilder &builder) {
    builder.setInsertionPoint(add);
    Value update = createUpdate(builder, add->getLoc(), sum, addend);
    add->getResult(0).replaceAllUsesWith(update);
    add->erase();
    ++numInPlace;
    return update;
  }

  void runOnOperation() override {
    func::FuncOp function = getOperation();
    if (!isBody(function))
      return;
    // A reduction over one element (the gradient of a single sample) would hide
    // the reduction that makes its operand.
    RewritePatternSet patterns(&getContext());
    populateSimplifyUnitSums(patterns);
    if (failed(applyPatternsGreedily(function, std::move(patterns))))
      function->emitWarning("sums over one element were not all simplified; "
                            "the body is right, but may be slow");
    for (BlockArgument argument : function.getArguments())
      if (function.getArgAttr(argument.getArgNumber(), kAccumulate))
        foldInto(argument, /*always=*/true);
    // The gradient of a weight that every iteration uses.
    function.walk([&](scf::ForOp loop) {
      for (BlockArgument carried : loop.getRegionIterArgs())
        foldInto(carried, /*always=*/false);
    });
  }

  /// Folds what is added to `sum`: a parameter used several times in a body has
  /// a chain of additions. If `always`, additions that are not folded are made
  /// in place.
  void foldInto(Value sum, bool always) {
    OpBuilder builder(&getContext());
    while (sum.hasOneUse()) {
      Operation *add = *sum.user_begin();
      Value addend = matchAdd(add, sum);
      if (!addend || addend.getType() != sum.getType() || addend == sum ||
          add->getBlock() != sum.getParentBlock())
        return;
      if (Value folded = fold(sum, addend, builder)) {
        add->getResult(0).replaceAllUsesWith(folded);
        add->erase();
        ++numFolded;
        sum = folded;
      } else if (always) {
        sum = updateInPlace(add, sum, addend, builder);
      } else {
        return;
      }
    }
  }
};

} // namespace
} // namespace stagewright::bodies
