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
// s, dp, m, l and t are numbers drawn at random: the formulas may use them in
// any way.
//
//===----------------------------------------------------------------------===//

#ifndef STAGEWRIGHT_LIB_DIALECT_PIPELINE_TRANSFORMS_ATTENTION_SOFTMAX_H
#define STAGEWRIGHT_LIB_DIALECT_PIPELINE_TRANSFORMS_ATTENTION_SOFTMAX_H

#include "Scores.h"

namespace stagewright::pipeline {

/// What the random numbers are of.
enum Seed : uint64_t { Score = 1, Weight, Max, Sum, Product, Bias, Where };

/// How an operation masks scores.
struct Masking;

class Softmax {
public:
  explicit Softmax(const Scores &scores) : scores(&scores) {}
  Softmax(const Softmax &) = delete; // what is given knows where it lies

  /// Whether the reductions of the scores are those of a softmax. What follows
  /// is known then.
  bool match() {
    return findReductions() && findQueries() && findMask() && checkScores() &&
           checkSums();
  }

  int keyDim = -1, queryDim = -1;
  double scale = 0;
  bool causal = false;
  /// A tensor that masks scores, and what its elements are where it does.
  mlir::Value mask;
  std::optional<double> fill;

  bool isWeights(mlir::Value value) { return agrees(value, false); }
  bool isGradient(mlir::Value value) { return agrees(value, true); }

private:
  bool findReductions();
  bool findQueries();
  bool findMask();
  bool takeMask(const Masking &masking);
  bool checkScores();
  bool checkSums();
  bool agrees(mlir::Value value, bool gradient);
  std::optional<double> valueAt(mlir::Value value, llvm::ArrayRef<int64_t> at);
  std::optional<double> maskedAt(llvm::ArrayRef<int64_t> at, double score);
  std::optional<double> weightAt(llvm::ArrayRef<int64_t> at);
  llvm::SmallVector<Place> samples() const;

  const Scores *scores;
  Evaluator evaluator;
  llvm::SmallVector<int> queryDims; ///< dimensions that keys do not have
  mlir::Value masked, maximum;      ///< x and m
  llvm::SmallVector<Looped> sums;
  std::optional<double> score; ///< in the place of s, if given
};

} // namespace stagewright::pipeline

#endif // STAGEWRIGHT_LIB_DIALECT_PIPELINE_TRANSFORMS_ATTENTION_SOFTMAX_H
