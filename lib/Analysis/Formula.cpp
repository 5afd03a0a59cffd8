//===- Formula.cpp - scalar functions in a normal form --------------------===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "stagewright/Analysis/Formula.h"
#include "stagewright/Dialect/LLVM.h"
#include "llvm/ADT/DenseSet.h"
#include <cmath>

namespace stagewright {

/// A formula of more terms is unknown. GELU's derivative has 6.
constexpr size_t kMostTerms = 64;
/// A formula with a higher power of an atom is unknown.
constexpr int kMostPower = 64;
/// A formula that takes more steps to reduce is unknown.
constexpr int kMostReductions = 1000;
/// Max relative difference of two factors that count as equal, such as a
/// constant and the product of a few float32 constants.
constexpr double kTolerance = 1e-5;
/// The relative rounding error of a few operations in double precision. A sum
/// that is larger, relative to its terms, must not be dropped: a later factor
/// may make it large.
constexpr double kRounding = 1e-14;
/// exp is 0 below this in double precision; larger negative constants in
/// exponents are those of masks.
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
  bool isExact = sum == std::trunc(sum) && factor == std::trunc(factor);
  sum += factor;
  if (sum == 0 || (!isExact && std::isfinite(largest) &&
                   std::fabs(sum) <= kRounding * largest))
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

/// None if a power is too high.
static std::optional<Formula::Product> multiply(const Formula::Product &a,
                                                const Formula::Product &b) {
  Formula::Product product;
  for (auto i = a.begin(), j = b.begin(); i != a.end() || j != b.end();) {
    if (j == b.end() || (i != a.end() && i->first < j->first)) {
      product.push_back(*i++);
    } else if (i == a.end() || j->first < i->first) {
      product.push_back(*j++);
    } else {
      int power = i->second + j->second;
      if (std::abs(power) > kMostPower)
        return std::nullopt;
      if (power != 0)
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
    for (const auto &[right, y] : b.factors) {
      std::optional<Formula::Product> both = multiply(left, right);
      if (!both || x * y == 0) // 0: it underflows.
        return Formula::unknown();
      product.add(*both, x * y);
    }
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
  if (a.isUnknown() || b.isUnknown() || b.factors.empty())
    return Formula::unknown();
  const auto &[product, factor] = *b.factors.begin();
  if (b.factors.size() == 1) {
    if (std::isinf(factor))
      return a.number() && std::isinf(*a.number()) ? Formula::unknown() : 0;
    Formula::Product powers = product;
    for (auto &[atom, power] : powers)
      power = -power;
    Formula inverse;
    inverse.factors[powers] = 1 / factor;
    return reduce(a * inverse);
  }
  if (std::optional<Formula> inverse = invertLogistic(b))
    return reduce(a * *inverse);
  Formula unit = b * Formula(1 / factor);
  return a * Formula(1 / factor) * atom(Kind::Inverse, {}, unit);
}

std::optional<Formula> Formulas::invertLogistic(const Formula &b) {
  std::optional<unsigned> base;
  std::map<int, double> byPower;
  for (const auto &[product, factor] : b.factors) {
    if (product.empty()) {
      byPower[0] = factor;
      continue;
    }
    auto [number, power] = product[0];
    if (product.size() > 1 || atoms[number].kind != Kind::Exp ||
        base.value_or(number) != number)
      return std::nullopt;
    base = number;
    byPower[power] = factor;
  }
  SmallVector<std::pair<int, double>> terms(byPower.begin(), byPower.end());
  if (terms.back().first <= 0)
    std::reverse(terms.begin(), terms.end());
  // Check that the factors are those of leading e^first (1 + ratio e^step)^n,
  // with the exponential e.
  auto [first, leading] = terms[0];
  int n = int(terms.size()) - 1, step = terms[1].first - first;
  double ratio = terms[1].second / leading / n, expected = leading;
  for (int k = 1; k <= n; ++k) {
    expected *= ratio * (n - k + 1) / k;
    if (terms[k].first != first + k * step ||
        !(std::fabs(terms[k].second - expected) <=
          kRounding * std::fabs(expected)))
      return std::nullopt;
  }
  if (!(ratio > 0) || !std::isfinite(ratio))
    return std::nullopt;
  // 1 / (1 + exp(z)) = 1/2 - 1/2 tanh(z / 2)
  Formula z = atoms[*base].argument * Formula(step) + Formula(std::log(ratio));
  Formula t = tanh(z * Formula(0.5));
  if (t.isUnknown())
    return std::nullopt;
  const auto &[product, sign] = *t.factors.begin();
  Logistic own{*base, step, ratio, product[0].first, sign};
  if (!llvm::is_contained(logistics, own))
    logistics.push_back(own);
  Formula inverse(1 / leading);
  for (int k = 0; k < n; ++k)
    inverse = inverse * Formula(0.5) * (Formula(1) - t);
  if (first == 0)
    return inverse;
  Formula rest;
  rest.factors[{{*base, -first}}] = 1;
  return inverse * rest;
}

Formula Formulas::reduce(Formula formula) const {
  int steps = 0;
  for (const Logistic &of : logistics) {
    auto powerOf = [](const Formula::Product &product, unsigned atom) {
      for (auto [number, power] : product)
        if (number == atom)
          return power;
      return 0;
    };
    while (true) {
      auto term = llvm::find_if(formula.factors, [&](const auto &term) {
        return powerOf(term.first, of.tanh) > 0 &&
               std::abs(powerOf(term.first, of.exp)) >= std::abs(of.power);
      });
      if (term == formula.factors.end())
        break;
      if (++steps > kMostReductions)
        return Formula::unknown();
      // With E = exp(z) and t = tanh(z / 2): E t = E - 1 - t, and likewise
      // t / E = 1 - 1 / E - t.
      bool isInverse = (powerOf(term->first, of.exp) < 0) != (of.power < 0);
      int power = isInverse ? -of.power : of.power;
      double one = isInverse ? of.factor : 1 / of.factor;
      double sign = isInverse ? -of.sign : of.sign;
      Formula whole, divisor, replacement(-sign * one);
      whole.factors[term->first] = term->second;
      bool expFirst = of.exp < of.tanh;
      divisor.factors[expFirst
                          ? Formula::Product{{of.exp, -power}, {of.tanh, -1}}
                          : Formula::Product{{of.tanh, -1}, {of.exp, -power}}] =
          1;
      replacement.factors[{{of.exp, power}}] = sign;
      replacement.factors[{{of.tanh, 1}}] = -one;
      formula = formula - whole + whole * divisor * replacement;
    }
  }
  return formula;
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
  llvm::SmallDenseSet<unsigned> seen;
  SmallVector<const Formula *> pending = {&formula};
  while (!pending.empty())
    for (const auto &[product, factor] : pending.pop_back_val()->factors)
      for (auto [number, power] : product) {
        const Atom &atom = atoms[number];
        if (!seen.insert(number).second)
          continue;
        if (atom.kind == Kind::Leaf && is(atom.name))
          return true;
        pending.push_back(&atom.argument);
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

} // namespace stagewright
