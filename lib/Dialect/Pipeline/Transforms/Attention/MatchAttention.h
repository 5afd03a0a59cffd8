//===- MatchAttention.h - whether scores are those of attention -*- C++ -*-===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Scores are those of attention if all that is made of them is a softmax over
// keys, the product of that with values, and the gradients of both. What the
// softmax and its gradient are is decided by numbers (EvaluateAt.h), so that no
// way of writing them is missed; where the mask lies, by proof (CausalMask.h).
//
//===----------------------------------------------------------------------===//

#ifndef STAGEWRIGHT_LIB_DIALECT_PIPELINE_TRANSFORMS_ATTENTION_MATCHATTENTION_H
#define STAGEWRIGHT_LIB_DIALECT_PIPELINE_TRANSFORMS_ATTENTION_MATCHATTENTION_H

#include "Scores.h"

namespace stagewright::pipeline {

/// A tensor and what its axes are in the space of attention: batches, query,
/// key, width, value width.
struct Indexed {
  mlir::Value value;
  mlir::AffineMap map;
};

/// Attention as it stands in a step, forward, backward or both.
struct AttentionMatch {
  Indexed query, key, value;
  /// Axes of extent 1 that stand for all may be 0 in the maps of these two.
  std::optional<Indexed> mask;
  std::optional<Indexed> keep;   ///< where dropout keeps weights
  std::optional<Indexed> output; ///< absent: the backward computes it again
  std::optional<Indexed> dOutput, dQuery, dKey, dValue; ///< all or none
  double scale = 1;
  std::optional<double> cap, fill, kept;
  bool causal = false;
  unsigned batches = 0;
};

/// Nothing if `scores` are of something else; `why` then says what is missing.
std::optional<AttentionMatch> matchAttention(const Scores &scores,
                                             std::string &why);

} // namespace stagewright::pipeline

#endif // STAGEWRIGHT_LIB_DIALECT_PIPELINE_TRANSFORMS_ATTENTION_MATCHATTENTION_H
