//===- Softmax.h - the formulas of softmax, by numbers ----------*- C++ -*-===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What is made of scores s is compared, at random elements, with softmax:
//
//   x = scale s, masked      m = max x     e = exp(x - m)     l = sum e
//   weights p = e / l        their gradient dp                t = sum e dp
//   gradient of the scores ds = scale p (dp - t / l) where s is not masked
//
// With a cap c, x is c tanh(scale s / c), masked, and ds has its derivative in
// the place of scale. With dropout, the weights that values are multiplied by
// are d p, and dp is d times what the product with values gives; d is a number
// where a condition holds, or else 0.
//
// s, dp, m, l, t and the condition are drawn at random: the formulas may use
// them in any way.
//
//===----------------------------------------------------------------------===//

#ifndef STAGEWRIGHT_LIB_DIALECT_PIPELINE_TRANSFORMS_ATTENTION_SOFTMAX_H
#define STAGEWRIGHT_LIB_DIALECT_PIPELINE_TRANSFORMS_ATTENTION_SOFTMAX_H

#include "Scores.h"

namespace stagewright::pipeline {

/// What the random numbers are of.
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
  Softmax(const Softmax &) = delete; // what is given knows where it lies

  /// Whether the reductions of the scores are those of a softmax. What follows
  /// is known then.
  bool match() {
    return findReductions() && findQueries() && findMask() && findKeep() &&
           checkScores() && checkSums() && findKept();
  }

  int keyDim = -1, queryDim = -1;
  double scale = 0;
  std::optional<double> cap; ///< of scores, by tanh
  bool causal = false;
  /// A tensor that masks scores, and what its elements are where it does.
  mlir::Value mask;
  std::optional<double> fill;
  /// Where dropout keeps weights, and what it multiplies these by.
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
  /// What becomes of a score that is not masked, and the derivative of that.
  double scaled(double score) const;
  double slope(double score) const;
  /// 0 where dropout takes a weight away, else 1.
  double keptAt(llvm::ArrayRef<int64_t> at) const;
  /// e dp, but for a factor.
  std::optional<double> productAt(llvm::ArrayRef<int64_t> at);
  std::optional<double> valueAt(mlir::Value value, llvm::ArrayRef<int64_t> at);
  std::optional<double> maskedAt(llvm::ArrayRef<int64_t> at, double score);
  std::optional<double> weightAt(llvm::ArrayRef<int64_t> at);
  llvm::SmallVector<Place> samples() const;

  const Scores *scores;
  Evaluator evaluator;
  llvm::SmallVector<int> queryDims; ///< dimensions that keys do not have
  mlir::Value masked, maximum;      ///< x and m
  llvm::SmallVector<Looped> sums;
  mlir::Value dropped;         ///< weights after dropout
  std::optional<double> score; ///< in the place of s, if given
};

} // namespace stagewright::pipeline

#endif // STAGEWRIGHT_LIB_DIALECT_PIPELINE_TRANSFORMS_ATTENTION_SOFTMAX_H
