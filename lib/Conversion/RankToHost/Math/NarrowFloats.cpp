//===- NarrowFloats.cpp - 16-bit floats without library calls -------------===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "mlir/Dialect/Arith/Transforms/Passes.h"
#include "mlir/Dialect/Math/Transforms/Passes.h"
#include "mlir/Transforms/DialectConversion.h"
#include "mlir/Transforms/GreedyPatternRewriteDriver.h"
#include "stagewright/Conversion/RankToHost/Passes.h"

namespace stagewright::host {
#define GEN_PASS_DEF_HOSTNARROWFLOATS
#include "stagewright/Conversion/RankToHost/Passes.h.inc"

namespace {

/// Rounds f64 to 16 bits by way of f32. Rounding to nearest twice can be wrong
/// if the first result is halfway between two 16-bit numbers. So the first
/// rounding is to odd, with which the second is always right (Boldo and
/// Melquiond, Emulation of FMA and correctly rounded sums: proved algorithms
/// using rounding to odd, 2008).
struct RoundToOdd : OpRewritePattern<arith::TruncFOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(arith::TruncFOp op,
                                PatternRewriter &rewriter) const override {
    Value x = op.getIn();
    Type type = op.getType(), element = getElementTypeOrSelf(type);
    if (!getElementTypeOrSelf(x.getType()).isF64() ||
        element.getIntOrFloatBitWidth() != 16 || op.getRoundingmodeAttr())
      return failure();
    ImplicitLocOpBuilder b(op.getLoc(), rewriter);
    auto like = [&](Type element) -> Type {
      auto shaped = dyn_cast<ShapedType>(type);
      return shaped ? Type(shaped.clone(element)) : element;
    };
    Type words = like(b.getI32Type());
    Value single = arith::TruncFOp::create(b, like(b.getF32Type()), x);
    Value back = arith::ExtFOp::create(b, x.getType(), single);
    auto compare = [&](arith::CmpFPredicate how, Value left, Value right) {
      return arith::ExtUIOp::create(b, words,
                                    arith::CmpFOp::create(b, how, left, right));
    };
    // Round to odd: if `single` was rounded away from zero, take the adjacent
    // f32 towards zero; then set the last bit if the rounding was inexact.
    Value away =
        compare(arith::CmpFPredicate::OGT, math::AbsFOp::create(b, back),
                math::AbsFOp::create(b, x));
    Value lost = compare(arith::CmpFPredicate::ONE, back, x);
    Value bits = arith::BitcastOp::create(b, words, single);
    bits = arith::OrIOp::create(b, arith::SubIOp::create(b, bits, away), lost);
    Value odd = arith::BitcastOp::create(b, single.getType(), bits);
    rewriter.replaceOpWithNewOp<arith::TruncFOp>(op, type, odd);
    return success();
  }
};

struct HostNarrowFloatsPass : impl::HostNarrowFloatsBase<HostNarrowFloatsPass> {
  void runOnOperation() override {
    if (failed(computeInSingle()) || failed(callInSingle()))
      return signalPassFailure();
    roundAsWritten();
    RewritePatternSet patterns(&getContext());
    patterns.add<RoundToOdd>(&getContext());
    arith::populateExpandBFloat16Patterns(patterns);
    if (failed(applyPatternsGreedily(getOperation(), std::move(patterns))))
      signalPassFailure();
  }

  /// Computes arithmetic of bf16 in f32 and rounds every result.
  LogicalResult computeInSingle() {
    TypeConverter converter;
    arith::populateEmulateUnsupportedFloatsConversions(
        converter, {BFloat16Type::get(&getContext())},
        Float32Type::get(&getContext()));
    ConversionTarget target(getContext());
    arith::populateEmulateUnsupportedFloatsLegality(target, converter);
    RewritePatternSet patterns(&getContext());
    arith::populateEmulateUnsupportedFloatsPatterns(patterns, converter);
    return applyPartialConversion(getOperation(), target, std::move(patterns));
  }

  /// Computes math functions of 16-bit floats (rounding, powers, what
  /// ApproximateMath leaves) in f32: C libraries have none for 16 bits.
  LogicalResult callInSingle() {
    MLIRContext *context = &getContext();
    TypeConverter converter;
    SetVector<Type> kept;
    kept.insert(Float32Type::get(context));
    kept.insert(Float64Type::get(context));
    math::populateExtendToSupportedTypesTypeConverter(
        converter, kept, Float32Type::get(context));
    ConversionTarget target(*context);
    math::populateExtendToSupportedTypesConversionTarget(target, converter);
    RewritePatternSet patterns(context);
    math::populateExtendToSupportedTypesPatterns(patterns, converter);
    return applyPartialConversion(getOperation(), target, std::move(patterns));
  }

  /// Removes `contract` from the casts of MLIR's emulation. With it roundings
  /// may be folded in one kernel and not in another that computes the same
  /// number.
  void roundAsWritten() {
    getOperation()->walk([](Operation *op) {
      if (auto truncate = dyn_cast<arith::TruncFOp>(op))
        truncate.removeFastmathAttr();
      else if (auto extend = dyn_cast<arith::ExtFOp>(op))
        extend.removeFastmathAttr();
    });
  }
};

} // namespace
} // namespace stagewright::host
