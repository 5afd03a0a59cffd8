//===- FuseElementwise.cpp - fusion of elementwise producers --------------===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Patterns.h"
#include "mlir/Dialect/Linalg/Transforms/Transforms.h"
#include "mlir/Transforms/GreedyPatternRewriteDriver.h"
#include "stagewright/Analysis/Work.h"
#include "stagewright/Conversion/BodiesToKernels/Passes.h"
#include "stagewright/Conversion/BodiesToKernels/TensorUtils.h"

namespace stagewright::bodies {
#define GEN_PASS_DEF_BODYFUSEELEMENTWISE
#include "stagewright/Conversion/BodiesToKernels/Passes.h.inc"

namespace {

/// Max operations in the body of a fused operation; larger bodies spill
/// registers and take long to compile.
constexpr int64_t kLargestBody = 64;
/// Max operands of a fused operation: hardware prefetchers cannot follow more
/// arrays at once.
constexpr int64_t kMostOperands = 16;

int64_t countOps(linalg::GenericOp op) {
  return std::distance(op.getBody()->begin(), op.getBody()->end()) - 1;
}

/// Whether `op` becomes many instructions, which are not worth repeating.
bool isCostly(Operation &op) {
  if (op.getNumRegions() != 0)
    return true;
  return isa<math::MathDialect>(op.getDialect()) &&
         !isa<math::AbsFOp, math::RsqrtOp, math::SqrtOp, math::FmaOp>(op);
}

bool hasOneUser(linalg::GenericOp op) {
  Operation *user = nullptr;
  for (Operation *next : op->getUsers()) {
    if (user && next != user)
      return false;
    user = next;
  }
  return true;
}

/// Inputs of `producer`, at least as large as its result, that `consumer` does
/// not read yet. After fusion it reads these instead of the result.
SetVector<Value> newReads(linalg::GenericOp producer,
                          linalg::GenericOp consumer) {
  auto sizeOf = [](Value value) {
    auto type = dyn_cast<RankedTensorType>(value.getType());
    return type && type.hasStaticShape() ? type.getNumElements() : 0;
  };
  SetVector<Value> reads;
  for (Value input : producer.getInputs())
    if (sizeOf(input) >= sizeOf(producer.getResult(0)) &&
        !llvm::is_contained(consumer->getOperands(), input))
      reads.insert(input);
  return reads;
}

struct BodyFuseElementwisePass
    : impl::BodyFuseElementwiseBase<BodyFuseElementwisePass> {
  using BodyFuseElementwiseBase::BodyFuseElementwiseBase;

  bool shouldFuse(OpOperand *use) {
    auto producer = use->get().getDefiningOp<linalg::GenericOp>();
    auto consumer = dyn_cast<linalg::GenericOp>(use->getOwner());
    if (!producer || !consumer ||
        producer->getBlock() != consumer->getBlock() || isConvolution(consumer))
      return false;
    if (countOps(producer) + countOps(consumer) > kLargestBody ||
        producer->getNumOperands() + consumer->getNumOperands() > kMostOperands)
      return false;
    // A producer that reads its initial value would read it again at every
    // point.
    for (OpOperand &init : producer.getDpsInitsMutable())
      if (!producer.getMatchingBlockArgument(&init).use_empty())
        return false;
    if (isLongRow(producer, consumer))
      return true;
    bool costly = llvm::any_of(*producer.getBody(), isCostly);
    // If the consumer has more points, each of them computes the producer
    // again.
    if (costly && pointsOf(consumer) > pointsOf(producer))
      return false;
    if (hasOneUser(producer))
      return true;
    return !costly && countOps(producer) <= maxOps &&
           newReads(producer, consumer).size() <= 1;
  }

  /// Whether the rows of `producer` are too long to be kept on the device
  /// between its consumers, and fusion does not make `consumer` read more
  /// bytes.
  bool isLongRow(linalg::GenericOp producer, linalg::GenericOp consumer) {
    auto type = dyn_cast<RankedTensorType>(producer.getResult(0).getType());
    if (longestRow == 0 || !type || !type.hasStaticShape() ||
        type.getRank() == 0 || type.getShape().back() <= longestRow ||
        pointsOf(consumer) > pointsOf(producer) ||
        !llvm::all_of(producer->getUsers(), [](Operation *user) {
          return isa<linalg::GenericOp>(user);
        }))
      return false;
    int64_t bytes = 0;
    for (Value read : newReads(producer, consumer))
      bytes += pipeline::bytesOf(read.getType());
    return bytes <= pipeline::bytesOf(type);
  }

  /// Folds a reshape only if it is between two generics, of which the first has
  /// no reduction loops.
  static bool shouldFoldReshape(OpOperand *use) {
    Operation *producer = use->get().getDefiningOp();
    Operation *consumer = use->getOwner();
    if (!producer || !producer->hasOneUse())
      return false;
    // collapse -> generic: worthwhile if an elementwise operation made the
    // collapsed value.
    if (auto collapse = dyn_cast<tensor::CollapseShapeOp>(producer)) {
      auto before = collapse.getSrc().getDefiningOp<linalg::GenericOp>();
      return before && before.getNumReductionLoops() == 0 &&
             isa<linalg::GenericOp>(consumer);
    }
    // generic -> expand: worthwhile if a generic reads the expanded value.
    if (auto expand = dyn_cast<tensor::ExpandShapeOp>(consumer)) {
      auto before = dyn_cast<linalg::GenericOp>(producer);
      return before && before.getNumReductionLoops() == 0 &&
             expand->hasOneUse() &&
             isa<linalg::GenericOp>(*expand->user_begin());
    }
    return false;
  }

  void runOnOperation() override {
    RewritePatternSet patterns(&getContext());
    linalg::populateElementwiseOpsFusionPatterns(
        patterns, [this](OpOperand *use) { return shouldFuse(use); });
    linalg::populateFoldReshapeOpsByExpansionPatterns(patterns,
                                                      shouldFoldReshape);
    populateSimplifyUnits(patterns);
    populateReadElements(patterns);
    populateComputeSlices(patterns);
    populateSumOneHots(patterns);
    linalg::GenericOp::getCanonicalizationPatterns(patterns, &getContext());
    tensor::ExpandShapeOp::getCanonicalizationPatterns(patterns, &getContext());
    tensor::CollapseShapeOp::getCanonicalizationPatterns(patterns,
                                                         &getContext());
    if (failed(applyPatternsGreedily(getOperation(), std::move(patterns))))
      getOperation()->emitWarning("elementwise fusion did not converge; the "
                                  "body is right, but may be slow");
  }
};

} // namespace
} // namespace stagewright::bodies
