//===- ChainCosts.h - prefix sums over a chain of layers --------*- C++ -*-===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Lets dynamic programs compute costs of an interval of layers in constant
// time. Times are seconds of a whole microbatch on a device.
//
//===----------------------------------------------------------------------===//

#ifndef STAGEWRIGHT_PLANNING_CHAINCOSTS_H
#define STAGEWRIGHT_PLANNING_CHAINCOSTS_H

#include "stagewright/Planning/Evaluate.h"

namespace stagewright {

/// Bytes sent from the layers before a cut to those after it, and back. If the
/// input states a transfer time, it counts as the bytes that the fastest link
/// sends in this time.
struct CutTraffic {
  double forwardBytes = 0, backwardBytes = 0;
  bool hasForward = false, hasBackward = false;
};

struct ChainCosts {
  /// With `surelyNext` the traffic of a cut includes only values between the
  /// two layers beside it: every plan with this cut sends those from a stage to
  /// the next. Other values may have a channel of their own.
  ChainCosts(const Problem &problem, const Network &network,
             bool surelyNext = false);

  size_t layers = 0;
  double microbatches = 1;
  bool forwardOnly = false, halfDuplex = true, overlapAllReduce = true;

  /// Sums of layers [0, l), by device class.
  std::vector<std::vector<double>> forward, backward;
  /// The same for recomputation, by device class and level (Layer::levels; a
  /// layer with fewer levels counts at its highest).
  std::vector<std::vector<std::vector<double>>> again;
  /// For layers [0, l): bytes of gradients, and the number of layers with any.
  std::vector<double> gradientBytes, gradientLayers;
  /// Number of layers of [0, l) that cannot be sliced.
  std::vector<int64_t> unsliceable;
  /// Traffic of the cut before layer l.
  std::vector<CutTraffic> cuts;
  /// By layer l: whether it reads a value of layer l - 1, and whether it
  /// returns a gradient to layer l - 1.
  std::vector<bool> feeds, returns;

  /// Whether no layer can be sliced, so that replicas run whole microbatches.
  bool allTurns() const { return unsliceable.back() == int64_t(layers); }
  /// Seconds of the whole chain on a device of class `c`.
  double total(size_t c) const {
    return forward[c].back() + backward[c].back();
  }
};

} // namespace stagewright

#endif // STAGEWRIGHT_PLANNING_CHAINCOSTS_H
