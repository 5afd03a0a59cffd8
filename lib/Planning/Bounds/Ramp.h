//===- Ramp.h - time lost to lack of memory ---------------------*- C++ -*-===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Private to this folder. No backward of a pipeline begins before a microbatch
// has passed the forwards of all layers. Until then a device runs only forwards
// and holds the stashes of all of them. If these do not fit, the device waits,
// or recomputes some of them later. Let it run layer l for x_l of the first S
// seconds, at a level that, for every second of the layer's forward, keeps b_l
// bytes and costs e_l seconds of recomputation. If it has `room` bytes for
// stashes, it loses
//
//   S - sum_l x_l (1 - e_l),   sum_l x_l <= S,   sum_l x_l b_l <= room,
//
// where x_l is at most f_l m, the forward of m microbatches. For any price of a
// byte this is at least
//
//   S - price room - max sum_l x_l (1 - e_l - price b_l),   sum_l x_l <= S,
//
// and the max is found by taking layers in order of their value per second.
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

  /// Lower bound on the seconds lost in the first `seconds` of a device with
  /// `room` bytes for the stashes of `microbatches` microbatches.
  double loss(double seconds, double room, double microbatches) const;

private:
  /// Layers in order of their value per second at one price of a byte.
  struct Worth {
    double price;
    /// Sums over the first layers, for one microbatch.
    std::vector<double> seconds, worth;

    double of(double time) const;
  };
  std::vector<Worth> prices;
};

} // namespace stagewright

#endif // STAGEWRIGHT_PLANNING_BOUNDS_RAMP_H
