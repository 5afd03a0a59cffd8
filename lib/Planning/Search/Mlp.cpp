//===- Mlp.cpp - a small network that learns a number ---------------------===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Search/Mlp.h"
#include <algorithm>
#include <cmath>

namespace stagewright {

static constexpr size_t kHiddenWidth = 64;
/// Constants of Adam, as its authors propose them, except the rate, which suits
/// networks of this size.
static constexpr float kRate = 2e-3f, kMean = 0.9f, kSquare = 0.999f,
                       kSmall = 1e-8f;

/// A number of the normal distribution (Box and Muller 1958).
static float normal(SearchRandom &random) {
  constexpr double kTurn = 6.283185307179586;
  double radius = std::sqrt(-2 * std::log(1 - random.real()));
  return float(radius * std::cos(kTurn * random.real()));
}

Mlp::Mlp(size_t inputs, SearchRandom &random) {
  for (auto [from, to] : {std::pair(inputs, kHiddenWidth),
                          {kHiddenWidth, kHiddenWidth},
                          {kHiddenWidth, size_t(1)}}) {
    Layer layer{from, to, std::vector<float>((from + 1) * to), {}, {}, {}};
    layer.gradients = layer.mean = layer.square = layer.weights;
    float scale = to == 1 ? 0 : std::sqrt(2.0f / float(from));
    for (size_t i = 0; i < from * to; ++i)
      layer.weights[i] = scale * normal(random);
    layers.push_back(std::move(layer));
  }
}

void Mlp::forward(std::span<const float> input,
                  std::vector<std::vector<float>> &outputs) const {
  outputs.resize(layers.size());
  for (size_t l = 0; l < layers.size(); ++l) {
    const Layer &layer = layers[l];
    std::vector<float> &sums = outputs[l];
    sums.assign(layer.biases(), layer.biases() + layer.outputs);
    for (size_t i = 0; i < layer.inputs; ++i)
      if (float number = input[i]; number != 0)
        for (size_t o = 0; o < layer.outputs; ++o)
          sums[o] += layer.row(i)[o] * number;
    if (l + 1 < layers.size())
      for (float &sum : sums)
        sum = std::max(sum, 0.0f);
    input = sums;
  }
}

float Mlp::of(std::span<const float> input) const {
  thread_local std::vector<std::vector<float>> outputs;
  forward(input, outputs);
  return outputs.back().front();
}

void Mlp::learn(std::span<const float> input, float target, float weight) {
  std::vector<std::vector<float>> outputs;
  forward(input, outputs);
  // The slope of a Huber loss: large errors count linearly.
  float error = outputs.back().front() - target;
  std::vector<float> slope = {weight * std::clamp(error, -1.0f, 1.0f)};
  for (size_t l = layers.size(); l-- > 0;) {
    Layer &layer = layers[l];
    std::span<const float> from =
        l > 0 ? std::span<const float>(outputs[l - 1]) : input;
    std::vector<float> before(layer.inputs);
    float *gradients = layer.gradients.data();
    for (size_t i = 0; i < layer.inputs; ++i, gradients += layer.outputs) {
      if (from[i] == 0) // After ReLU it passes nothing back either.
        continue;
      for (size_t o = 0; o < layer.outputs; ++o) {
        gradients[o] += slope[o] * from[i];
        before[i] += slope[o] * layer.row(i)[o];
      }
    }
    for (size_t o = 0; o < layer.outputs; ++o)
      gradients[o] += slope[o];
    slope = std::move(before);
  }
  ++examples;
}

void Mlp::update() {
  if (examples == 0)
    return;
  ++updates;
  float meanPart = 1 - std::pow(kMean, float(updates));
  float squarePart = 1 - std::pow(kSquare, float(updates));
  for (Layer &layer : layers)
    for (size_t i = 0; i < layer.weights.size(); ++i) {
      float gradient = layer.gradients[i] / float(examples);
      float &mean = layer.mean[i], &square = layer.square[i];
      mean = kMean * mean + (1 - kMean) * gradient;
      square = kSquare * square + (1 - kSquare) * gradient * gradient;
      layer.weights[i] -=
          kRate * (mean / meanPart) / (std::sqrt(square / squarePart) + kSmall);
      layer.gradients[i] = 0;
    }
  examples = 0;
}

} // namespace stagewright
