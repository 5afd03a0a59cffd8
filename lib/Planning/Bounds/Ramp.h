//===- Ramp.h - what memory costs before a first backward -------*- C++ -*-===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Private to this room. No backward of a pipeline begins before a first
// microbatch has passed the forwards of all layers. Until then a device runs
// forwards only, and holds what all of them keep; where that does not fit, it
// waits, or computes some of it again later. If it runs layer l for x_l seconds
// of the first S, at some level that keeps b_l bytes and computes e_l seconds
// again for every second of its forward, it loses
//
//   S - sum_l x_l (1 - e_l),   sum_l x_l <= S,   sum_l x_l b_l <= room,
//
// with x_l no more than its m microbatches take, f_l m. For any price of a byte
// that is at least
//
//   S - price room - max sum_l x_l (1 - e_l - price b_l),   sum_l x_l <= S,
//
// and the maximum takes the layers by what a second of them is worth.
//
//===----------------------------------------------------------------------===//

#ifndef STAGEWRIGHT_PLANNING_BOUNDS_RAMP_H
#define STAGEWRIGHT_PLANNING_BOUNDS_RAMP_H

#include "stagewright/Planning/Problem.h"
#include <vector>

namespace stagewright {

class Ramp {
public:
  explicit Ramp(const Problem &problem);

  /// Seconds that are lost at least in the first `seconds` of a device that has
  /// `room` bytes for what `microbatches` keep.
  double loss(double seconds, double room, double microbatches) const;

private:
  /// Layers in the order of their worth at one price.
  struct Worth {
    double price;
    /// Of one microbatch, summed over the first layers.
    std::vector<double> seconds, worth;

    double of(double time) const;
  };
  std::vector<Worth> prices;
};

} // namespace stagewright

#endif // STAGEWRIGHT_PLANNING_BOUNDS_RAMP_H
