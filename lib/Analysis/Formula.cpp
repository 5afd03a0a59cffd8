//===- Formula.cpp - scalar functions in a normal form --------------------===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "stagewright/Analysis/Formula.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "stagewright/Dialect/LLVM.h"
#include "llvm/ADT/TypeSwitch.h"
#include <cmath>

namespace stagewright {

/// A larger formula is unknown. GELU's derivative has 5 terms.
constexpr size_t kMostTerms = 64;
/// The relative difference of two factors that are equal up to rounding, for
/// example of a constant that is stored twice in 16 bits.
constexpr double kTolerance = 1e-5;
/// The relative rest of two factors that cancel.
constexpr double kRest = 1e-6;
/// Larger numbers are more than any leaf, as infinity is.
constexpr double kHuge = 1e30;
/// exp is 0 below this in double precision.
constexpr double kLeastExponent = -745;

//===----------------------------------------------------------------------===//
// Sums and products
//===----------------------------------------------------------------------===//

Formula::Formula(double number) {
  if (number != 0)
    factors[{}] = number;
}

Formula Formula::unknown() { return std::nan(""); }

bool Formula::isUnknown() const {
  auto constant = factors.find({});
  return constant != factors.end() && std::isnan(constant->second);
}

std::optional<double> Formula::number() const {
  if (factors.empty())
    return 0;
  if (factors.size() > 1 || !factors.begin()->first.empty() || isUnknown())
    return std::nullopt;
  return factors.begin()->second;
}

void Formula::add(const Product &product, double factor) {
  double &sum = factors[product];
  double largest = std::max(std::fabs(sum), std::fabs(factor));
  sum += factor;
  if (std::fabs(sum) <= kRest * largest && std::isfinite(largest))
    factors.erase(product);
}

/// An infinite constant hides the other terms, which are finite.
void Formula::normalize() {
  bool isKnown = factors.size() <= kMostTerms;
  for (const auto &[product, factor] : factors)
    isKnown &=
        !std::isnan(factor) && (std::isfinite(factor) || product.empty());
  auto constant = factors.find({});
  if (!isKnown)
    *this = unknown();
  else if (constant != factors.end() && std::isinf(constant->second))
    *this = Formula(constant->second);
}

Formula operator+(const Formula &a, const Formula &b) {
  Formula sum = a;
  for (const auto &[product, factor] : b.factors)
    sum.add(product, factor);
  sum.normalize();
  return sum;
}

static Formula::Product multiply(const Formula::Product &a,
                                 const Formula::Product &b) {
  Formula::Product product;
  for (auto i = a.begin(), j = b.begin(); i != a.end() || j != b.end();) {
    if (j == b.end() || (i != a.end() && i->first < j->first)) {
      product.push_back(*i++);
    } else if (i == a.end() || j->first < i->first) {
      product.push_back(*j++);
    } else {
      if (int power = i->second + j->second)
        product.push_back({i->first, power});
      ++i, ++j;
    }
  }
  return product;
}

Formula operator*(const Formula &a, const Formula &b) {
  Formula product;
  auto isInfinite = [](const Formula &of) {
    return of.number() && std::isinf(*of.number());
  };
  if (a.isUnknown() || b.isUnknown() || (a.factors.empty() && isInfinite(b)) ||
      (b.factors.empty() && isInfinite(a)))
    return Formula::unknown();
  for (const auto &[left, x] : a.factors)
    for (const auto &[right, y] : b.factors)
      product.add(multiply(left, right), x * y);
  product.normalize();
  return product;
}

bool operator==(const Formula &a, const Formula &b) {
  auto isNear = [](double x, double y) {
    return x == y || std::fabs(x - y) <=
                         kTolerance * std::max(std::fabs(x), std::fabs(y));
  };
  return !a.isUnknown() && !b.isUnknown() &&
         llvm::equal(a.factors, b.factors, [&](const auto &x, const auto &y) {
           return x.first == y.first && isNear(x.second, y.second);
         });
}

//===----------------------------------------------------------------------===//
// Atoms
//===----------------------------------------------------------------------===//

Formula Formulas::atom(Kind kind, ArrayRef<int64_t> name,
                       const Formula &argument, int power) {
  if (argument.isUnknown())
    return argument;
  auto known = llvm::find_if(atoms, [&](const Atom &atom) {
    return atom.kind == kind && ArrayRef<int64_t>(atom.name) == name &&
           atom.argument == argument;
  });
  auto number = unsigned(known - atoms.begin());
  if (known == atoms.end())
    atoms.push_back({kind, SmallVector<int64_t>(name), argument});
  Formula formula;
  formula.factors[{{number, power}}] = 1;
  return formula;
}

Formula Formulas::leaf(ArrayRef<int64_t> name) {
  return atom(Kind::Leaf, name, {});
}

Formula Formulas::divide(const Formula &a, const Formula &b) {
  if (b.isUnknown() || b.factors.empty())
    return Formula::unknown();
  Formula::Product product = b.factors.begin()->first;
  double factor = b.factors.begin()->second;
  if (b.factors.size() == 1) {
    Formula inverse;
    for (auto &[atom, power] : product)
      power = -power;
    inverse.factors[product] = 1 / factor;
    if (std::isinf(factor))
      return a.number() && std::isinf(*a.number()) ? Formula::unknown() : 0;
    return a * inverse;
  }
  // 1 / (1 + exp(z)) = 1/2 - 1/2 tanh(z / 2)
  auto [other, weight] = *std::next(b.factors.begin());
  if (b.factors.size() == 2 && product.empty() && other.size() == 1 &&
      atoms[other[0].first].kind == Kind::Exp && weight / factor > 0) {
    Formula z = atoms[other[0].first].argument * Formula(other[0].second) +
                Formula(std::log(weight / factor));
    return a * Formula(0.5 / factor) * (Formula(1) - tanh(z * Formula(0.5)));
  }
  Formula unit = b * Formula(1 / factor);
  return a * Formula(1 / factor) * atom(Kind::Inverse, {}, unit);
}

Formula Formulas::exp(const Formula &a) {
  if (std::optional<double> number = a.number())
    return std::exp(*number);
  // The constant is a factor, and exp(-z) the reciprocal of exp(z).
  auto found = a.factors.find({});
  double constant = found == a.factors.end() ? 0 : found->second;
  if (constant < kLeastExponent)
    return 0;
  Formula rest = a - Formula(constant);
  bool isNegative = rest.factors.begin()->second < 0;
  return atom(Kind::Exp, {}, isNegative ? -rest : rest, isNegative ? -1 : 1) *
         Formula(std::exp(constant));
}

Formula Formulas::tanh(const Formula &a) {
  if (std::optional<double> number = a.number())
    return std::tanh(*number);
  bool isNegative = a.factors.begin()->second < 0;
  return atom(Kind::Tanh, {}, isNegative ? -a : a) *
         Formula(isNegative ? -1 : 1);
}

bool Formulas::dependsOn(const Formula &formula,
                         llvm::function_ref<bool(ArrayRef<int64_t>)> is) const {
  for (const auto &[product, factor] : formula.factors)
    for (auto [number, power] : product) {
      const Atom &atom = atoms[number];
      if (atom.kind == Kind::Leaf ? is(atom.name)
                                  : dependsOn(atom.argument, is))
        return true;
    }
  return false;
}

std::optional<double> Formulas::matchLeaf(const Formula &formula,
                                          const Formula &other) const {
  if (formula.factors.size() != 1 ||
      formula.factors.begin()->first != other.factors.begin()->first)
    return std::nullopt;
  return formula.factors.begin()->second;
}

std::optional<std::pair<double, Formula>>
Formulas::matchTanh(const Formula &formula) const {
  if (formula.factors.size() != 1)
    return std::nullopt;
  const auto &[product, factor] = *formula.factors.begin();
  if (product.size() != 1 || product[0].second != 1 ||
      atoms[product[0].first].kind != Kind::Tanh)
    return std::nullopt;
  return std::pair(factor, atoms[product[0].first].argument);
}

//===----------------------------------------------------------------------===//
// Operations
//===----------------------------------------------------------------------===//

/// The sign of a - b, if that does not depend on leaves.
static std::optional<double> compare(const Formula &a, const Formula &b) {
  auto bound = [](const Formula &of) {
    std::optional<double> number = of.number();
    return number && std::fabs(*number) >= kHuge
               ? Formula(std::copysign(INFINITY, *number))
               : of;
  };
  std::optional<double> x = a.number(), y = b.number();
  if (x && y)
    return *x < *y ? -1 : *x > *y;
  std::optional<double> difference = (bound(a) - bound(b)).number();
  return difference ? std::optional(*difference < 0   ? -1.0
                                    : *difference > 0 ? 1.0
                                                      : 0.0)
                    : std::nullopt;
}

Formula Formulas::apply(Operation *op, ArrayRef<Formula> x) {
  auto decide = [&](auto holds) -> Formula {
    std::optional<double> sign = compare(x[0], x[1]);
    return sign ? Formula(holds(*sign) ? 1 : 0) : Formula::unknown();
  };
  auto choose = [&](bool larger) -> Formula {
    std::optional<double> sign = compare(x[0], x[1]);
    return !sign ? Formula::unknown() : (*sign > 0) == larger ? x[0] : x[1];
  };
  /// For predicates of numbers that are ordered, or of integers.
  auto relation = [&](auto is, auto eq, auto ne, auto lt, auto le, auto gt,
                      auto ge) -> Formula {
    return is == eq   ? decide([](double sign) { return sign == 0; })
           : is == ne ? decide([](double sign) { return sign != 0; })
           : is == lt ? decide([](double sign) { return sign < 0; })
           : is == le ? decide([](double sign) { return sign <= 0; })
           : is == gt ? decide([](double sign) { return sign > 0; })
           : is == ge ? decide([](double sign) { return sign >= 0; })
                      : Formula::unknown();
  };
  using F = arith::CmpFPredicate;
  using I = arith::CmpIPredicate;
  return llvm::TypeSwitch<Operation *, Formula>(op)
      .Case<arith::AddFOp, arith::AddIOp>([&](auto) { return x[0] + x[1]; })
      .Case<arith::SubFOp, arith::SubIOp>([&](auto) { return x[0] - x[1]; })
      .Case<arith::MulFOp, arith::MulIOp>([&](auto) { return x[0] * x[1]; })
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
      .Case<arith::ExtFOp, arith::TruncFOp, arith::SIToFPOp, arith::UIToFPOp,
            arith::IndexCastOp, arith::ExtSIOp, arith::ExtUIOp>(
          [&](auto) { return x[0]; })
      .Case([&](arith::CmpFOp cmp) {
        return relation(cmp.getPredicate(), F::OEQ, F::UNE, F::OLT, F::OLE,
                        F::OGT, F::OGE);
      })
      .Case([&](arith::CmpIOp cmp) {
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
