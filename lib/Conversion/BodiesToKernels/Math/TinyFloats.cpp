//===- TinyFloats.cpp - rounding to numbers of 8 bits ---------------------===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// LLVM has no floating-point types of 8 bits. A value that is rounded to such a
// type and widened again at once is a float32 rounded to fewer digits. A value
// in memory is a byte, whose bits are those of a float32 with another exponent
// bias: a multiplication by a power of two, exact for subnormal numbers too,
// converts between them. Adding and subtracting 1.5 times a power of two, so
// large that the last place of the sum is that of the result, rounds to
// nearest, ties to even.
//
//===----------------------------------------------------------------------===//

#include "TinyFloats.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/IR/PatternMatch.h"
#include "mlir/IR/TypeUtilities.h"
#include "stagewright/Conversion/BodiesToKernels/Elementary.h"
#include "stagewright/Dialect/LLVM.h"
#include <limits>

namespace stagewright::bodies {
namespace {

struct Format {
  int32_t fraction; ///< bits of the fraction
  float least;      ///< least normal number
  float largest;
  float beyond; ///< result of overflow
  /// Value of a number divided by that of the float32 with the same bits of
  /// exponent and fraction, the fractions aligned at their top bits.
  float bias;
  int32_t infinity, nan; ///< their bytes, without the sign bit
};

std::optional<Format> formatOf(Type type) {
  // OCP 8-bit floating point specification (OFP8), revision 1.0, table 1.
  if (isa<Float8E4M3FNType>(type))
    return Format{
        3,        0x1p-6F, 448, std::numeric_limits<float>::quiet_NaN(),
        0x1p120F, 0x7f,    0x7f};
  if (isa<Float8E5M2Type>(type))
    return Format{
        2,        0x1p-14F, 57344, std::numeric_limits<float>::infinity(),
        0x1p112F, 0x7c,     0x7e};
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

/// The byte of `x`, which is rounded already, as an integer of 32 bits.
Value encode(Lanes &lanes, const Format &format, Value x) {
  Value size = lanes.abs(x);
  Value code = lanes.shiftRight(
      lanes.bits(lanes.mul(size, lanes.number(1 / format.bias))),
      23 - format.fraction);
  code = lanes.select(lanes.less(lanes.number(format.largest), size),
                      lanes.integer(format.infinity), code);
  code = lanes.select(lanes.equal(x, x), code, lanes.integer(format.nan));
  Value sign =
      lanes.andBits(lanes.shiftRight(lanes.bits(x), 24), lanes.integer(0x80));
  return lanes.orBits(code, sign);
}

/// The number whose bits are the low byte of `byte`, an integer of 32 bits.
Value decode(Lanes &lanes, const Format &format, Value byte) {
  Value size = lanes.andBits(byte, lanes.integer(0x7f));
  Value x =
      lanes.mul(lanes.fromBits(lanes.shiftLeft(size, 23 - format.fraction)),
                lanes.number(format.bias));
  Value special =
      lanes.select(lanes.equalBits(size, lanes.integer(format.infinity)),
                   lanes.number(format.beyond),
                   lanes.number(std::numeric_limits<float>::quiet_NaN()));
  x = lanes.select(lanes.less(lanes.number(format.largest), x), special, x);
  return lanes.copySign(x, lanes.fromBits(lanes.shiftLeft(byte, 24)));
}

/// The type with the shape of `type` and elements of type `element`.
Type like(Type type, Type element) {
  auto shaped = dyn_cast<ShapedType>(type);
  return shaped ? Type(shaped.clone(element)) : element;
}

bool isWidenedFromFloat(arith::ExtFOp op) {
  auto narrow = op.getIn().getDefiningOp<arith::TruncFOp>();
  return narrow && narrow.getIn().getType() == op.getType() &&
         getElementTypeOrSelf(op.getType()).isF32();
}

struct RoundToByte : OpRewritePattern<arith::ExtFOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(arith::ExtFOp op,
                                PatternRewriter &rewriter) const override {
    auto format = formatOf(getElementTypeOrSelf(op.getIn().getType()));
    if (!format || !isWidenedFromFloat(op))
      return failure();
    Lanes lanes(rewriter, op.getLoc(), op.getType());
    Value from = op.getIn().getDefiningOp<arith::TruncFOp>().getIn();
    rewriter.replaceOp(op, roundTo(lanes, *format, from));
    return success();
  }
};

struct WriteByte : OpRewritePattern<arith::TruncFOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(arith::TruncFOp op,
                                PatternRewriter &rewriter) const override {
    Location loc = op.getLoc();
    Value x = op.getIn();
    Type from = getElementTypeOrSelf(x.getType());
    auto format = formatOf(getElementTypeOrSelf(op.getType()));
    auto rounds = [](Operation *user) {
      auto widened = dyn_cast<arith::ExtFOp>(user);
      return widened && isWidenedFromFloat(widened);
    };
    if (!format || from.isF64() || llvm::all_of(op->getUsers(), rounds))
      return failure();
    Type floats = like(op.getType(), rewriter.getF32Type());
    if (!from.isF32())
      x = arith::ExtFOp::create(rewriter, loc, floats, x);
    Lanes lanes(rewriter, loc, floats);
    Value byte = arith::TruncIOp::create(
        rewriter, loc, like(op.getType(), rewriter.getI8Type()),
        encode(lanes, *format, roundTo(lanes, *format, x)));
    rewriter.replaceOpWithNewOp<arith::BitcastOp>(op, op.getType(), byte);
    return success();
  }
};

struct ReadByte : OpRewritePattern<arith::ExtFOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(arith::ExtFOp op,
                                PatternRewriter &rewriter) const override {
    Location loc = op.getLoc();
    Type from = op.getIn().getType();
    auto format = formatOf(getElementTypeOrSelf(from));
    if (!format || isWidenedFromFloat(op))
      return failure();
    Value byte = arith::BitcastOp::create(
        rewriter, loc, like(from, rewriter.getI8Type()), op.getIn());
    byte = arith::ExtUIOp::create(rewriter, loc,
                                  like(from, rewriter.getI32Type()), byte);
    Type floats = like(from, rewriter.getF32Type()), to = op.getType();
    Lanes lanes(rewriter, loc, floats);
    Value x = decode(lanes, *format, byte);
    if (getElementTypeOrSelf(to).isF64())
      x = arith::ExtFOp::create(rewriter, loc, to, x);
    else if (!getElementTypeOrSelf(to).isF32())
      x = arith::TruncFOp::create(rewriter, loc, to, x);
    rewriter.replaceOp(op, x);
    return success();
  }
};

} // namespace

void populateTinyFloatPatterns(RewritePatternSet &patterns) {
  patterns.add<RoundToByte, WriteByte, ReadByte>(patterns.getContext());
}

} // namespace stagewright::bodies
