//===- Softmax.h - recognise softmax by its values --------------*- C++ -*-===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Values computed from scores s are compared, at random elements, with softmax:
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
// s, dp, m, l, t and the condition are random numbers, so it does not matter in
// which form the formulas are written.
//
//===----------------------------------------------------------------------===//

#ifndef STAGEWRIGHT_LIB_DIALECT_PIPELINE_TRANSFORMS_ATTENTION_SOFTMAX_H
#define STAGEWRIGHT_LIB_DIALECT_PIPELINE_TRANSFORMS_ATTENTION_SOFTMAX_H

#include "Scores.h"

namespace stagewright::pipeline {

/// Seeds of the random numbers, one for each quantity.
enum Seed : uint64_t {
  Score = 1,
  Weight,
  Max,
  Sum,
  Product,
  Bias,
  Where,
  Keep
};

/// How an operation masks scores.
struct Masking;

class Softmax {
public:
  explicit Softmax(const Scores &scores) : scores(&scores) {}
  Softmax(const Softmax &) = delete; // leaves of the evaluator capture `this`

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
  bool takeScale(double atOne, double far);
  bool checkScores();
  bool checkSums();
  bool agrees(mlir::Value value, bool gradient);
  /// The x of a score that is not masked, and its derivative.
  double scaled(double score) const;
  double slope(double score) const;
  /// 0 where dropout drops a weight, else 1.
  double keptAt(llvm::ArrayRef<int64_t> at) const;
  /// e dp, without the constant factor `kept`.
  std::optional<double> productAt(llvm::ArrayRef<int64_t> at);
  std::optional<double> valueAt(mlir::Value value, llvm::ArrayRef<int64_t> at);
  std::optional<double> maskedAt(llvm::ArrayRef<int64_t> at, double score);
  std::optional<double> weightAt(llvm::ArrayRef<int64_t> at);
  llvm::SmallVector<Place> samples() const;

  const Scores *scores;
  Evaluator evaluator;
  llvm::SmallVector<int> queryDims; ///< dimensions that keys lack
  mlir::Value masked, maximum;      ///< x and m
  llvm::SmallVector<Looped> sums;
  mlir::Value dropped;         ///< weights after dropout
  std::optional<double> score; ///< if set, used instead of s
};

} // namespace stagewright::pipeline

#endif // STAGEWRIGHT_LIB_DIALECT_PIPELINE_TRANSFORMS_ATTENTION_SOFTMAX_H
