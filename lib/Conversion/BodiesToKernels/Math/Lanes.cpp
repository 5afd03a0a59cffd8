//===- Lanes.cpp - arithmetic on scalars and vectors alike ----------------===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/IR/BuiltinTypes.h"
#include "stagewright/Conversion/BodiesToKernels/Elementary.h"
#include "stagewright/Dialect/LLVM.h"

namespace stagewright::bodies {

/// `type` with elements of type `element`.
static Type withElement(Type type, Type element) {
  if (auto shaped = dyn_cast<ShapedType>(type))
    return shaped.clone(element);
  return element;
}

Lanes::Lanes(OpBuilder &builder, Location location, Type type)
    : builder(builder), location(location), floats(type),
      integers(withElement(type, builder.getI32Type())),
      longs(withElement(type, builder.getI64Type())) {}

template <typename Op, typename... Args> Op Lanes::make(Args... args) {
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
  return horner(
      x, llvm::map_to_vector(coefficients, [&](float c) { return number(c); }));
}
Value Lanes::horner(Value x, llvm::ArrayRef<Value> coefficients) {
  Value sum = coefficients.front();
  for (Value coefficient : coefficients.drop_front())
    sum = fma(sum, x, coefficient);
  return sum;
}

Value Lanes::bits(Value x) { return make<arith::BitcastOp>(integers, x); }
Value Lanes::fromBits(Value x) { return make<arith::BitcastOp>(floats, x); }
Value Lanes::toFloat(Value x) { return make<arith::SIToFPOp>(floats, x); }
Value Lanes::addBits(Value a, Value b) { return make<arith::AddIOp>(a, b); }
Value Lanes::subBits(Value a, Value b) { return make<arith::SubIOp>(a, b); }
Value Lanes::mulBits(Value a, Value b) { return make<arith::MulIOp>(a, b); }
Value Lanes::andBits(Value a, Value b) { return make<arith::AndIOp>(a, b); }
Value Lanes::orBits(Value a, Value b) { return make<arith::OrIOp>(a, b); }
Value Lanes::xorBits(Value a, Value b) { return make<arith::XOrIOp>(a, b); }
Value Lanes::equalBits(Value a, Value b) {
  return make<arith::CmpIOp>(arith::CmpIPredicate::eq, a, b);
}
Value Lanes::shiftLeft(Value x, int32_t by) {
  return shiftLeft(x, integer(by));
}
Value Lanes::shiftRight(Value x, int32_t by) {
  return shiftRight(x, integer(by));
}

Value Lanes::wide(int64_t value) {
  return make<arith::ConstantOp>(
      splat(longs, builder.getI64IntegerAttr(value)));
}
Value Lanes::widen(Value x) { return make<arith::ExtUIOp>(longs, x); }
Value Lanes::narrow(Value x) { return make<arith::TruncIOp>(integers, x); }
Value Lanes::shiftLeft(Value x, Value by) { return make<arith::ShLIOp>(x, by); }
Value Lanes::shiftRight(Value x, Value by) {
  return make<arith::ShRSIOp>(x, by);
}
Value Lanes::shiftRightUnsigned(Value x, Value by) {
  return make<arith::ShRUIOp>(x, by);
}

SmallVector<Value>
Lanes::replaceWhere(Value condition, ArrayRef<Value> values,
                    llvm::function_ref<SmallVector<Value>()> other) {
  auto replaced = [&] {
    SmallVector<Value> chosen;
    for (auto [value, instead] : llvm::zip_equal(values, other()))
      chosen.push_back(select(condition, instead, value));
    return chosen;
  };
  Value any = condition;
  if (auto shaped = dyn_cast<ShapedType>(floats)) {
    if (!isa<VectorType>(shaped) || shaped.getRank() != 1)
      return replaced();
    any = make<vector::ReductionOp>(vector::CombiningKind::OR, condition);
  }
  auto branch = make<scf::IfOp>(ValueRange(values).getTypes(), any,
                                /*withElseRegion=*/true);
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPointToStart(branch.thenBlock());
  make<scf::YieldOp>(replaced());
  builder.setInsertionPointToStart(branch.elseBlock());
  make<scf::YieldOp>(values);
  return branch.getResults();
}

} // namespace stagewright::bodies
