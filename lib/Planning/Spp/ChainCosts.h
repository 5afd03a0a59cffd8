//===- ChainCosts.h - prefix sums over a chain of layers --------*- C++ -*-===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Private to this room: what the dynamic programs over intervals of layers ask
// for in constant time. Times are seconds of a whole microbatch on one device.
//
//===----------------------------------------------------------------------===//

#ifndef STAGEWRIGHT_PLANNING_CHAINCOSTS_H
#define STAGEWRIGHT_PLANNING_CHAINCOSTS_H

#include "stagewright/Planning/Evaluate.h"

namespace stagewright {

/// What crosses from the layers before a cut to those behind it, and back.
/// Seconds that an input states count as bytes over the fastest link.
struct CutTraffic {
  double forwardBytes = 0, backwardBytes = 0;
  bool hasForward = false, hasBackward = false;
};

struct ChainCosts {
  /// With `surelyNext` the traffic of a cut holds only values between the two
  /// layers beside it: those go from a stage to the next one in every plan, the
  /// others may have a channel of their own.
  ChainCosts(const Problem &problem, const Network &network,
             bool surelyNext = false);

  size_t layers = 0;
  double microbatches = 1;
  bool forwardOnly = false, halfDuplex = true, overlapAllReduce = true;

  /// Sums of layers [0, l), by device class.
  std::vector<std::vector<double>> forward, backward;
  /// By device class and level (Layer::levels, or a layer's highest): of
  /// computing again.
  std::vector<std::vector<std::vector<double>>> again;
  /// Sums of layers [0, l): bytes of gradients, and in how many layers.
  std::vector<double> gradientBytes, gradientLayers;
  /// Layers of [0, l) that cannot be sliced.
  std::vector<int64_t> unsliceable;
  /// Traffic of the cut before layer l.
  std::vector<CutTraffic> cuts;
  /// Whether layer l - 1 feeds layer l, and gets a gradient back.
  std::vector<bool> feeds, returns;

  /// Seconds of the whole chain on a device of class `c`.
  double total(size_t c) const {
    return forward[c].back() + backward[c].back();
  }
};

} // namespace stagewright

#endif // STAGEWRIGHT_PLANNING_CHAINCOSTS_H
