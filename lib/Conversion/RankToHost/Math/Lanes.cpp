//===- Lanes.cpp - arithmetic on scalars and vectors alike ----------------===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Elementary.h"
#include "mlir/IR/BuiltinTypes.h"

using namespace mlir;

namespace stagewright::host {

/// `type` with elements of type `element`.
static Type withElement(Type type, Type element) {
  if (auto shaped = dyn_cast<ShapedType>(type))
    return shaped.clone(element);
  return element;
}

Lanes::Lanes(OpBuilder &builder, Location location, Type type)
    : builder(builder), location(location), floats(type),
      integers(withElement(type, builder.getI32Type())) {}

template <typename Op, typename... Args> Value Lanes::make(Args... args) {
  return Op::create(builder, location, args...);
}

static TypedAttr splat(Type type, TypedAttr value) {
  if (auto shaped = dyn_cast<ShapedType>(type))
    return DenseElementsAttr::get(shaped, value);
  return value;
}

Value Lanes::number(float value) {
  return make<arith::ConstantOp>(splat(floats, builder.getF32FloatAttr(value)));
}
Value Lanes::integer(int32_t value) {
  return make<arith::ConstantOp>(
      splat(integers, builder.getI32IntegerAttr(value)));
}

Value Lanes::add(Value a, Value b) { return make<arith::AddFOp>(a, b); }
Value Lanes::sub(Value a, Value b) { return make<arith::SubFOp>(a, b); }
Value Lanes::mul(Value a, Value b) { return make<arith::MulFOp>(a, b); }
Value Lanes::div(Value a, Value b) { return make<arith::DivFOp>(a, b); }
Value Lanes::neg(Value a) { return make<arith::NegFOp>(a); }
Value Lanes::abs(Value a) { return make<math::AbsFOp>(a); }
Value Lanes::fma(Value a, Value b, Value c) {
  return make<math::FmaOp>(a, b, c);
}
Value Lanes::copySign(Value magnitude, Value sign) {
  return make<math::CopySignOp>(magnitude, sign);
}

Value Lanes::less(Value a, Value b) {
  return make<arith::CmpFOp>(arith::CmpFPredicate::OLT, a, b);
}
Value Lanes::equal(Value a, Value b) {
  return make<arith::CmpFOp>(arith::CmpFPredicate::OEQ, a, b);
}
Value Lanes::select(Value condition, Value a, Value b) {
  return make<arith::SelectOp>(condition, a, b);
}
Value Lanes::atLeast(Value x, float bound) {
  Value least = number(bound);
  return select(less(x, least), least, x);
}
Value Lanes::atMost(Value x, float bound) {
  Value most = number(bound);
  return select(less(most, x), most, x);
}

Value Lanes::horner(Value x, llvm::ArrayRef<float> coefficients) {
  Value sum = number(coefficients.front());
  for (float coefficient : coefficients.drop_front())
    sum = fma(sum, x, number(coefficient));
  return sum;
}

Value Lanes::bits(Value x) { return make<arith::BitcastOp>(integers, x); }
Value Lanes::fromBits(Value x) { return make<arith::BitcastOp>(floats, x); }
Value Lanes::toFloat(Value x) { return make<arith::SIToFPOp>(floats, x); }
Value Lanes::addBits(Value a, Value b) { return make<arith::AddIOp>(a, b); }
Value Lanes::subBits(Value a, Value b) { return make<arith::SubIOp>(a, b); }
Value Lanes::andBits(Value a, Value b) { return make<arith::AndIOp>(a, b); }
Value Lanes::shiftLeft(Value x, int32_t by) {
  return make<arith::ShLIOp>(x, integer(by));
}
Value Lanes::shiftRight(Value x, int32_t by) {
  return make<arith::ShRSIOp>(x, integer(by));
}

} // namespace stagewright::host
