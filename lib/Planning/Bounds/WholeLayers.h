//===- WholeLayers.h - layers that are not cut ------------------*- C++ -*-===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Private to this room. A rank r that waits for head_r seconds before its first
// layer and for rest_r or a sum of gradients behind its last action has room
// for
//
//   n_r(T) = floor((T - head_r - rest_r) / (m t_j))
//
// of the j longest layers at most, none of which is shorter than t_j; fewer
// where they and what they keep exceed its memory, or cost it time (Ramp.h). So
// sum_r n_r(T) >= j, also where the next shorter layer takes its time on some
// rank. The layers whose sums end the ranks' work are different ones: all ranks
// but q wait for the q-th smallest sum or a larger one.
//
//===----------------------------------------------------------------------===//

#ifndef STAGEWRIGHT_PLANNING_BOUNDS_WHOLELAYERS_H
#define STAGEWRIGHT_PLANNING_BOUNDS_WHOLELAYERS_H

#include "Bounds/Ramp.h"

namespace stagewright {

/// The `count` longest layers: each takes at least `seconds` for a microbatch
/// and holds `bytes`; the next shorter one takes `other`.
struct Longest {
  double seconds, bytes = 0;
  size_t count = 0;
  double other = 0;
};

/// The ranks of one shape, in the order of their first layers.
struct Ranks {
  std::vector<double> heads, rests; ///< By rank.
  std::vector<double> sums;         ///< By layer, smallest first.
  double microbatches;
  /// All forwards, if a first microbatch has to pass them all before any
  /// backward; otherwise 0.
  double firstPass;
  double memory;
  const Ramp &ramp;

  /// What rank `r` loses as long as it runs forwards only, with `bytes` of
  /// parameters and the like.
  double loss(size_t r, double bytes) const {
    return ramp.loss(firstPass - heads[r], memory - bytes, microbatches);
  }

  double places(double time, const Longest &layers, size_t few,
                size_t busy) const;
  bool hold(const std::vector<Longest> &longest, double time) const;
  double leastTime(const std::vector<Longest> &longest, double atLeast) const;
};

/// The longest layers of `problem`, of the lengths `total`, for the few largest
/// lengths.
std::vector<Longest> longestOf(const Problem &problem,
                               const std::vector<double> &total);

} // namespace stagewright

#endif // STAGEWRIGHT_PLANNING_BOUNDS_WHOLELAYERS_H
