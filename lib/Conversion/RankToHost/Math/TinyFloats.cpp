//===- TinyFloats.cpp - rounding to numbers of 8 bits ---------------------===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// LLVM has no floating-point type of 8 bits. What is rounded to one and widened
// at once never lies in memory as one: it is a float32 rounded to fewer digits.
// Adding and subtracting 1.5 times a power of two, so large that the last place
// of the sum is that of the result, rounds to the nearest, of two the even one.
//
//===----------------------------------------------------------------------===//

#include "TinyFloats.h"
#include "Elementary.h"
#include "mlir/IR/PatternMatch.h"
#include "mlir/IR/TypeUtilities.h"
#include <limits>

using namespace mlir;

namespace stagewright::host {
namespace {

struct Format {
  int32_t fraction; ///< bits
  float least;      ///< normal number
  float largest;
  float beyond; ///< what overflow gives
};

std::optional<Format> formatOf(Type type) {
  // OCP 8-bit floating point specification (OFP8), revision 1.0, table 1.
  if (isa<Float8E4M3FNType>(type))
    return Format{3, 0x1p-6F, 448, std::numeric_limits<float>::quiet_NaN()};
  if (isa<Float8E5M2Type>(type))
    return Format{2, 0x1p-14F, 57344, std::numeric_limits<float>::infinity()};
  return std::nullopt;
}

Value roundTo(Lanes &lanes, const Format &format, Value x) {
  constexpr int32_t bits = 23, half = 1 << 22;
  Value size = lanes.atMost(lanes.abs(x), 2 * format.largest);
  Value exponent =
      lanes.shiftRight(lanes.bits(lanes.atLeast(size, format.least)), bits);
  Value large = lanes.fromBits(lanes.orBits(
      lanes.shiftLeft(
          lanes.addBits(exponent, lanes.integer(bits - format.fraction)), bits),
      lanes.integer(half)));
  Value rounded = lanes.sub(lanes.add(size, large), large);
  Value over = lanes.less(lanes.number(format.largest), rounded);
  return lanes.copySign(
      lanes.select(over, lanes.number(format.beyond), rounded), x);
}

struct RoundToByte : OpRewritePattern<arith::ExtFOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(arith::ExtFOp op,
                                PatternRewriter &rewriter) const override {
    auto narrow = op.getIn().getDefiningOp<arith::TruncFOp>();
    auto format = formatOf(getElementTypeOrSelf(op.getIn().getType()));
    if (!narrow || !format || narrow.getIn().getType() != op.getType() ||
        !getElementTypeOrSelf(op.getType()).isF32())
      return failure();
    Lanes lanes(rewriter, op.getLoc(), op.getType());
    rewriter.replaceOp(op, roundTo(lanes, *format, narrow.getIn()));
    return success();
  }
};

} // namespace

void populateTinyFloatPatterns(RewritePatternSet &patterns) {
  patterns.add<RoundToByte>(patterns.getContext());
}

} // namespace stagewright::host
