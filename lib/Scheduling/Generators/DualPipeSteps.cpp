//===- DualPipeSteps.cpp - the eight steps of DualPipe --------------------===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "DualPipeSteps.h"
#include "Builder.h"
#include <deque>

namespace stagewright {

namespace {
/// Appends to a rank's order. Deferred W are in a queue, first in, first out.
class Steps {
public:
  Steps(Builder &order, const DualPipeRank &rank) : order(order), rank(rank) {}

  void warmUp();
  void steady();
  void drain();

private:
  void backward(int64_t stage, bool split) {
    order.run(split ? ActionKind::InputGradient : ActionKind::Backward, stage);
    if (split)
      weights.push_back(stage);
  }
  void weightGradient() {
    order.run(ActionKind::WeightGradient, weights.front());
    weights.pop_front();
  }
  /// Ranks that a microbatch of `near` still passes before the turn.
  int64_t below() const { return rank.places - 1 - rank.place; }

  Builder &order;
  const DualPipeRank &rank;
  std::deque<int64_t> weights;
};
} // namespace

void Steps::warmUp() {
  for (int64_t i = 0; i < 2 * below(); ++i)
    order.run(ActionKind::Forward, rank.near);
  for (int64_t i = 0; i <= rank.place; ++i) {
    order.run(ActionKind::Forward, rank.near);
    order.run(ActionKind::Forward, rank.far);
  }
  for (int64_t i = 0; i < below(); ++i) {
    backward(rank.far, /*split=*/true);
    weightGradient();
    order.run(ActionKind::Forward, rank.far);
  }
}

void Steps::steady() {
  int64_t pairs = rank.microbatches - 2 * rank.places + rank.place + 1;
  for (int64_t i = 0; i < pairs; ++i) {
    // As in DeepSeek's code, the last rank before the turn does not pair its
    // first forward and backward: so the forward ends earlier.
    if (i == 0 && below() == 0) {
      order.run(ActionKind::Forward, rank.near);
      order.run(ActionKind::Backward, rank.far);
    } else {
      order.pair(rank.near, rank.far);
    }
    order.pair(rank.far, rank.near);
  }
  for (int64_t i = 0; i < below(); ++i) {
    order.run(ActionKind::Backward, rank.far);
    order.pair(rank.far, rank.near);
  }
}

/// Backwards without forwards: the first place + 1 are whole, the others split;
/// their W run while the rank would wait for the last gradients.
void Steps::drain() {
  int64_t whole = rank.place + 1; // Backwards not split, of 2 (place + 1).
  for (int64_t i = 0; i < 2 * (rank.place + 1); ++i)
    backward(i % 2 == 0 ? rank.far : rank.near, /*split=*/i >= whole);
  for (int64_t i = 0; i < below(); ++i) {
    weightGradient();
    backward(rank.near, /*split=*/true);
  }
  while (!weights.empty())
    weightGradient();
}

void runDualPipeSteps(Builder &order, const DualPipeRank &rank) {
  Steps steps(order, rank);
  steps.warmUp();
  steps.steady();
  steps.drain();
}

} // namespace stagewright
