//===- Softmax.h - recognise softmax by its formula -------------*- C++ -*-===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The formulas of values computed from scores s are compared with softmax:
//
//   x = scale s, masked      m = max x     e = exp(x - m)     l = sum e
//   weights p = e / l        their gradient dp                t = sum e dp
//   gradient of the scores ds = scale p (dp - t / l) where s is not masked
//
// With a cap c, x is c tanh(scale s / c), masked, and ds has the derivative of
// that instead of scale. With dropout, values are multiplied by d p instead of
// p, and dp is d times the gradient of d p; d is a constant where a condition
// holds, and 0 elsewhere.
//
// s, dp, m, l, t and an added bias are leaves of the formulas. With dropout,
// the leaf for dp is the gradient of d p, and the leaf for t lacks the constant
// of d. A value has one formula for each case of the conditions: whether a
// score is masked, and whether a weight is dropped.
//
//===----------------------------------------------------------------------===//

#ifndef STAGEWRIGHT_LIB_DIALECT_PIPELINE_TRANSFORMS_ATTENTION_SOFTMAX_H
#define STAGEWRIGHT_LIB_DIALECT_PIPELINE_TRANSFORMS_ATTENTION_SOFTMAX_H

#include "Scores.h"

namespace stagewright::pipeline {

/// The leaves, one for each element: s, dp, m, l, t, and an added bias.
enum class Quantity : int64_t { Score, Weight, Max, Sum, Product, Bias };

/// How an operation masks scores.
struct Masking;

class Softmax {
public:
  explicit Softmax(const Scores &scores) : scores(&scores) {}
  Softmax(const Softmax &) = delete; // leaves of the elements capture `this`

  /// Whether the reductions over the scores are those of a softmax. If so, sets
  /// the members below.
  bool match() {
    return findReductions() && findQueries() && findMask() && findKeep() &&
           checkScores() && checkSums() && findKept();
  }

  int keyDim = -1, queryDim = -1;
  double scale = 0;
  std::optional<double> cap; ///< c, if scores are capped
  bool causal = false;
  /// A tensor that masks scores, or null; and the value of x where s is masked.
  mlir::Value mask;
  std::optional<double> fill;
  /// The condition of dropout, or null; and the d of the weights that it keeps.
  mlir::Value keep;
  double kept = 1;

  bool isWeights(mlir::Value value) { return agrees(value, false); }
  bool isGradient(mlir::Value value) { return agrees(value, true); }

private:
  bool findReductions();
  bool findQueries();
  bool findMask();
  bool takeMask(const Masking &masking);
  bool findKeep();
  bool findKept();
  bool takeScale(const Formula &x);
  bool checkScores();
  bool checkSums();
  bool agrees(mlir::Value value, bool gradient);
  bool addsMask() const;
  /// Whether `holds` returns true in every case of the conditions.
  bool inAllCases(llvm::function_ref<bool()> holds);
  /// The condition `value` at `place`: `holds` if that is its element for the
  /// score that is looked at, else unknown.
  Formula conditionAt(mlir::Value value, llvm::ArrayRef<int> place,
                      bool holds) const;
  /// A quantity. leaf(): at an element of `value`; own(): at the score that is
  /// looked at; ofRow(): for the row of that score.
  Formula leaf(Quantity quantity, mlir::Value value, llvm::ArrayRef<int> place);
  Formula own(Quantity quantity);
  Formula ofRow(Quantity quantity);
  /// The element of `value` for the score that is looked at.
  Formula of(mlir::Value value);
  /// scaled(): the x of a score that is not masked, without a bias. slope():
  /// the derivative of this x by s.
  Formula scaled();
  Formula slope();
  Formula weight(); ///< e
  /// e dp, without the constant factor `kept`.
  Formula product();

  const Scores *scores;
  ElementFormulas elements;
  /// The case of the conditions for which formulas are made.
  struct Case {
    bool isHidden = false;  ///< the score is masked
    bool isDropped = false; ///< dropout drops the weight
  } now;
  llvm::SmallVector<int> queryDims; ///< dimensions that keys lack
  mlir::Value masked, maximum;      ///< x and m
  llvm::SmallVector<Looped> sums;
  mlir::Value dropped; ///< weights after dropout
};

} // namespace stagewright::pipeline

#endif // STAGEWRIGHT_LIB_DIALECT_PIPELINE_TRANSFORMS_ATTENTION_SOFTMAX_H
