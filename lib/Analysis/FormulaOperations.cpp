//===- FormulaOperations.cpp - formulas of operations ---------------------===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "stagewright/Analysis/Formula.h"
#include "stagewright/Dialect/LLVM.h"
#include "llvm/ADT/TypeSwitch.h"
#include <cmath>

namespace stagewright {

/// Upper bound on the absolute value of every leaf.
constexpr double kMostOfLeaf = 1e30;
/// The bits of an integer that a double stores exactly.
constexpr unsigned kMostBits = 53;

std::optional<int> Formulas::compare(const Formula &a, const Formula &b) const {
  auto signOf = [](double number) { return (number > 0) - (number < 0); };
  std::optional<double> x = a.number(), y = b.number();
  if (x && y)
    return (*x > *y) - (*x < *y);
  Formula difference = a - b;
  if (std::optional<double> number = difference.number())
    return signOf(*number);
  // The constant decides the sign if its absolute value is at least the bound
  // of the sum of all other terms: in absolute value, leaves are less than
  // kMostOfLeaf and values of tanh less than 1.
  double constant = 0, rest = 0;
  for (const auto &[product, factor] : difference.factors) {
    bool isSingle = product.size() == 1 && product[0].second == 1;
    Kind kind = isSingle ? atoms[product[0].first].kind : Kind::Exp;
    if (product.empty())
      constant = factor;
    else
      rest += kind == Kind::Leaf   ? std::fabs(factor) * kMostOfLeaf
              : kind == Kind::Tanh ? std::fabs(factor)
                                   : INFINITY;
  }
  return rest <= std::fabs(constant) ? std::optional(signOf(constant))
                                     : std::nullopt;
}

/// `x` as a number of the integer type `type`, where an i1 is 0 or 1. Unknown
/// if it is not a constant, if the type cannot hold it, or if a double may not
/// store it exactly.
static Formula asInteger(const Formula &x, Type type) {
  type = getElementTypeOrSelf(type);
  unsigned bits = type.isIndex() ? kMostBits : type.getIntOrFloatBitWidth();
  double limit = std::ldexp(1.0, int(std::min(bits, kMostBits + 1)) - 1);
  double least = bits == 1 ? 0 : -limit, most = bits == 1 ? 1 : limit - 1;
  std::optional<double> number = x.number();
  return number && least <= *number && *number <= most ? x : Formula::unknown();
}

/// An operand of type `type`, extended by its sign: true is then -1.
static Formula bySign(const Formula &x, Type type) {
  Formula number = asInteger(x, type);
  return getElementTypeOrSelf(type).isInteger(1) ? -number : number;
}

/// An operand of type `type`, extended by zeros.
static Formula byZeros(const Formula &x, Type type) {
  Formula number = asInteger(x, type);
  return number.number() >= 0.0 ? number : Formula::unknown();
}

Formula Formulas::apply(Operation *op, ArrayRef<Formula> x) {
  auto decide = [&](auto holds) -> Formula {
    std::optional<int> sign = compare(x[0], x[1]);
    return sign ? Formula(holds(*sign) ? 1 : 0) : Formula::unknown();
  };
  auto choose = [&](bool larger) -> Formula {
    std::optional<int> sign = compare(x[0], x[1]);
    return !sign ? Formula::unknown() : (*sign > 0) == larger ? x[0] : x[1];
  };
  /// The result of a comparison with predicate `is`; the other arguments are
  /// the predicates of its type.
  auto relation = [&](auto is, auto eq, auto ne, auto lt, auto le, auto gt,
                      auto ge) -> Formula {
    return is == eq   ? decide([](int sign) { return sign == 0; })
           : is == ne ? decide([](int sign) { return sign != 0; })
           : is == lt ? decide([](int sign) { return sign < 0; })
           : is == le ? decide([](int sign) { return sign <= 0; })
           : is == gt ? decide([](int sign) { return sign > 0; })
           : is == ge ? decide([](int sign) { return sign >= 0; })
                      : Formula::unknown();
  };
  if (op->getNumOperands() == 0 || op->getNumResults() != 1)
    return Formula::unknown();
  Type operand = op->getOperand(0).getType(),
       result = op->getResult(0).getType();
  using F = arith::CmpFPredicate;
  using I = arith::CmpIPredicate;
  return llvm::TypeSwitch<Operation *, Formula>(op)
      .Case([&](arith::AddFOp) { return x[0] + x[1]; })
      .Case([&](arith::SubFOp) { return x[0] - x[1]; })
      .Case([&](arith::MulFOp) { return reduce(x[0] * x[1]); })
      .Case([&](arith::AddIOp) { return asInteger(x[0] + x[1], result); })
      .Case([&](arith::SubIOp) { return asInteger(x[0] - x[1], result); })
      .Case([&](arith::MulIOp) { return asInteger(x[0] * x[1], result); })
      .Case([&](arith::DivFOp) { return divide(x[0], x[1]); })
      .Case([&](arith::NegFOp) { return -x[0]; })
      .Case<arith::MaximumFOp, arith::MaxNumFOp>(
          [&](auto) { return choose(true); })
      .Case<arith::MinimumFOp, arith::MinNumFOp>(
          [&](auto) { return choose(false); })
      .Case([&](math::ExpOp) { return exp(x[0]); })
      .Case([&](math::TanhOp) { return tanh(x[0]); })
      .Case([&](arith::SelectOp) {
        std::optional<double> condition = x[0].number();
        return !condition ? Formula::unknown() : *condition != 0 ? x[1] : x[2];
      })
      .Case<arith::ExtFOp, arith::TruncFOp>([&](auto) { return x[0]; })
      .Case([&](arith::SIToFPOp) { return bySign(x[0], operand); })
      .Case([&](arith::UIToFPOp) { return byZeros(x[0], operand); })
      .Case<arith::ExtSIOp, arith::IndexCastOp>(
          [&](auto) { return asInteger(bySign(x[0], operand), result); })
      .Case([&](arith::ExtUIOp) { return byZeros(x[0], operand); })
      .Case([&](arith::CmpFOp cmp) {
        return relation(cmp.getPredicate(), F::OEQ, F::UNE, F::OLT, F::OLE,
                        F::OGT, F::OGE);
      })
      .Case([&](arith::CmpIOp cmp) {
        // As a signed number true is less than false.
        bool isOrder =
            cmp.getPredicate() != I::eq && cmp.getPredicate() != I::ne;
        if (isOrder && getElementTypeOrSelf(operand).isInteger(1))
          return Formula::unknown();
        return relation(cmp.getPredicate(), I::eq, I::ne, I::slt, I::sle,
                        I::sgt, I::sge);
      })
      .Case<arith::AndIOp, arith::OrIOp, arith::XOrIOp>([&](auto logic) {
        std::optional<double> a = x[0].number(), b = x[1].number();
        if (!a || !b || !getElementTypeOrSelf(logic.getType()).isInteger(1))
          return Formula::unknown();
        bool both = *a != 0 && *b != 0, any = *a != 0 || *b != 0;
        return Formula(isa<arith::AndIOp>(op)  ? both
                       : isa<arith::OrIOp>(op) ? any
                                               : any && !both);
      })
      .Default([](Operation *) { return Formula::unknown(); });
}

} // namespace stagewright
