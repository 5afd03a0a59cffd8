//===- Formula.h - scalar functions in a normal form ------------*- C++ -*-===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A real function as a sum of products of powers of atoms: of given leaves, of
// exp, tanh and reciprocals of other such sums. Frameworks, differentiation and
// simplification write one function in many ways. Most of those that are equal
// by the laws of arithmetic have the same form here, and equal forms prove
// equal functions, up to the rounding of constants. The reverse does not always
// hold: exp(2 x) and exp(x)^2, for example, have different forms.
//
// The numbers are real. Integers do not wrap, nothing is rounded to narrow
// types, and leaves are finite and small beside the constants of masks: exp of
// a sum with a constant below -745 is 0.
//
//===----------------------------------------------------------------------===//

#ifndef STAGEWRIGHT_ANALYSIS_FORMULA_H
#define STAGEWRIGHT_ANALYSIS_FORMULA_H

#include "mlir/IR/Operation.h"
#include <map>
#include <optional>
#include <vector>

namespace stagewright {

class Formula {
public:
  /// Atoms, by number, and their powers, none of which is 0. The empty product
  /// is that of the constant term.
  using Product = llvm::SmallVector<std::pair<unsigned, int>, 4>;

  /// A constant; infinite ones are allowed, and NaN is an unknown function.
  Formula(double number = 0);
  static Formula unknown();

  bool isUnknown() const;
  /// The value of a constant, possibly infinite.
  std::optional<double> number() const;

  friend Formula operator+(const Formula &a, const Formula &b);
  friend Formula operator*(const Formula &a, const Formula &b);
  friend Formula operator-(const Formula &a) { return a * Formula(-1); }
  friend Formula operator-(const Formula &a, const Formula &b) {
    return a + -b;
  }
  /// Whether both are known and have the same form, with factors that are equal
  /// up to 1e-5 of their size.
  friend bool operator==(const Formula &a, const Formula &b);

private:
  friend class Formulas;
  void add(const Product &product, double factor);
  void normalize();

  std::map<Product, double> factors; ///< no factor is 0
};

/// The table of atoms to which formulas refer by number. Only formulas of one
/// table can be combined or compared.
class Formulas {
public:
  /// A leaf by its name; one with the same name is the same leaf.
  Formula leaf(llvm::ArrayRef<int64_t> name);
  Formula divide(const Formula &a, const Formula &b);
  Formula exp(const Formula &a);
  Formula tanh(const Formula &a);

  /// The result of `op`, an operation of the arith or math dialect. True is 1,
  /// false is 0, and an i1 that is extended by its sign is -1 or 0. Unknown for
  /// an operation without a rule, for a comparison whose outcome depends on the
  /// values of leaves, and for an integer that depends on leaves or wraps. The
  /// caller handles constants.
  Formula apply(mlir::Operation *op, llvm::ArrayRef<Formula> operands);

  /// Whether `formula` depends on a leaf for which `is` holds.
  bool dependsOn(const Formula &formula,
                 llvm::function_ref<bool(llvm::ArrayRef<int64_t>)> is) const;
  /// k if `formula` is k times `other`, which is a leaf; else none.
  std::optional<double> matchLeaf(const Formula &formula,
                                  const Formula &other) const;
  /// k and z if `formula` is k tanh(z); else none.
  std::optional<std::pair<double, Formula>>
  matchTanh(const Formula &formula) const;

private:
  enum class Kind { Leaf, Exp, Tanh, Inverse };
  struct Atom {
    Kind kind;
    llvm::SmallVector<int64_t> name; ///< of a leaf
    Formula argument;                ///< of the others
  };

  /// E = exp(z) and t = tanh(z / 2), for which 1 / (1 + E) = 1/2 - 1/2 t.
  struct Logistic {
    unsigned exp; ///< E is `factor` times this atom to the power `power`
    int power;
    double factor;
    unsigned tanh; ///< t is `sign` times this atom
    double sign;

    bool operator==(const Logistic &) const = default;
  };

  Formula atom(Kind kind, llvm::ArrayRef<int64_t> name, const Formula &argument,
               int power = 1);
  /// The sign of a - b, if that does not depend on leaves.
  std::optional<int> compare(const Formula &a, const Formula &b) const;
  /// 1 / b as a polynomial of tanh(z / 2), if b is a multiple of a power of
  /// 1 + exp(z).
  std::optional<Formula> invertLogistic(const Formula &b);
  /// Replaces each product E t by the equal sum E - t - 1.
  Formula reduce(Formula formula) const;

  std::vector<Atom> atoms;
  std::vector<Logistic> logistics;
};

} // namespace stagewright

#endif // STAGEWRIGHT_ANALYSIS_FORMULA_H
