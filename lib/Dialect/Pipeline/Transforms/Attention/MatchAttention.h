//===- MatchAttention.h - recognise attention -------------------*- C++ -*-===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A product is the scores of attention if only these are computed from it: a
// softmax over keys, its product with values, and the gradients of both. The
// softmax and its gradient are proved by their formulas (Formula.h), which are
// equal however they are written, and a causal mask by its comparisons
// (CausalMask.h).
//
//===----------------------------------------------------------------------===//

#ifndef STAGEWRIGHT_LIB_DIALECT_PIPELINE_TRANSFORMS_ATTENTION_MATCHATTENTION_H
#define STAGEWRIGHT_LIB_DIALECT_PIPELINE_TRANSFORMS_ATTENTION_MATCHATTENTION_H

#include "Scores.h"

namespace stagewright::pipeline {

/// A tensor, and the map from the dimensions of attention (batches, query, key,
/// width, value width) to the axes of the tensor.
struct Indexed {
  mlir::Value value;
  mlir::AffineMap map;
};

/// Attention in a step: forward, backward or both.
struct AttentionMatch {
  Indexed query, key, value;
  /// In the maps of these two, an axis of extent 1 that is broadcast may be 0.
  std::optional<Indexed> mask;
  std::optional<Indexed> keep;   ///< which weights dropout keeps
  std::optional<Indexed> output; ///< absent: the backward computes it again
  std::optional<Indexed> dOutput, dQuery, dKey, dValue; ///< all or none
  double scale = 1;
  std::optional<double> cap, fill, kept;
  bool causal = false;
  unsigned batches = 0;
};

/// None if `scores` are not those of attention; `why` is then the reason.
std::optional<AttentionMatch> matchAttention(const Scores &scores,
                                             std::string &why);

} // namespace stagewright::pipeline

#endif // STAGEWRIGHT_LIB_DIALECT_PIPELINE_TRANSFORMS_ATTENTION_MATCHATTENTION_H
