//===- Mlp.h - a small network that learns a number -------------*- C++ -*-===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Private to this folder: inputs -> 64 -> 64 -> one number, with ReLU between,
// trained by Adam on a Huber loss. Plain loops: a library for networks of this
// size costs more to call than to compute.
//
// Source: Kingma and Ba, Adam (2015); sizes as in Auto-MAP.
//
//===----------------------------------------------------------------------===//

#ifndef STAGEWRIGHT_LIB_PLANNING_MLP_H
#define STAGEWRIGHT_LIB_PLANNING_MLP_H

#include "stagewright/Planning/Search.h"

namespace stagewright {

class Mlp {
public:
  /// Random weights (He et al. 2015); the last layer is zero, so that the
  /// network starts at 0 everywhere.
  Mlp(size_t inputs, SearchRandom &random);

  /// The output for `input`, of `inputs` numbers.
  float of(std::span<const float> input) const;

  /// Adds to the gradients of the loss that of one example with this weight.
  void learn(std::span<const float> input, float target, float weight);
  /// Applies the gradients, divided by the number of examples, and clears them.
  void update();

private:
  /// A layer: a row of weights for each input, then biases, in one array.
  struct Layer {
    size_t inputs, outputs;
    std::vector<float> weights, gradients, mean, square;
    const float *row(size_t input) const {
      return weights.data() + input * outputs;
    }
    const float *biases() const { return row(inputs); }
  };
  /// Outputs of all layers, of all but the last after ReLU.
  void forward(std::span<const float> input,
               std::vector<std::vector<float>> &outputs) const;

  std::vector<Layer> layers;
  int64_t examples = 0, updates = 0;
};

} // namespace stagewright

#endif // STAGEWRIGHT_LIB_PLANNING_MLP_H
