//===- ApproximateMath.cpp - elementary functions without calls -----------===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "TinyFloats.h"
#include "mlir/Dialect/Math/Transforms/Passes.h"
#include "mlir/Transforms/GreedyPatternRewriteDriver.h"
#include "stagewright/Conversion/BodiesToKernels/Elementary.h"
#include "stagewright/Conversion/BodiesToKernels/Passes.h"

namespace stagewright::bodies {
#define GEN_PASS_DEF_BODYAPPROXIMATEMATH
#include "stagewright/Conversion/BodiesToKernels/Passes.h.inc"

namespace {

/// Replaces an operation on f32 by the arithmetic that `expand` writes.
template <typename Op, Value expand(Lanes &, Value)>
struct Expand : OpRewritePattern<Op> {
  using OpRewritePattern<Op>::OpRewritePattern;

  LogicalResult matchAndRewrite(Op op,
                                PatternRewriter &rewriter) const override {
    Type type = op.getType();
    if (!getElementTypeOrSelf(type).isF32())
      return failure();
    Lanes lanes(rewriter, op.getLoc(), type);
    rewriter.replaceOp(op, expand(lanes, op.getOperand()));
    return success();
  }
};

struct BodyApproximateMathPass
    : impl::BodyApproximateMathBase<BodyApproximateMathPass> {
  void runOnOperation() override {
    RewritePatternSet patterns(&getContext());
    populateMathF32ExpansionPatterns(patterns, [](StringRef) { return true; });
    patterns
        .add<Expand<math::ExpOp, expandExp>, Expand<math::Exp2Op, expandExp2>,
             Expand<math::ExpM1Op, expandExpM1>, Expand<math::LogOp, expandLog>,
             Expand<math::Log1pOp, expandLog1p>,
             Expand<math::TanhOp, expandTanh>, Expand<math::ErfOp, expandErf>,
             Expand<math::ErfcOp, expandErfc>, Expand<math::SinOp, expandSin>,
             Expand<math::CosOp, expandCos>>(&getContext());
    populateTinyFloatPatterns(patterns);
    math::populateExpansionPatterns(patterns, {"fpowi", "rsqrt"});
    if (failed(applyPatternsGreedily(getOperation(), std::move(patterns))))
      return signalPassFailure();
  }
};

} // namespace
} // namespace stagewright::bodies
