//===- WholeLayers.h - layers that are not cut ------------------*- C++ -*-===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Private to this folder: a lower bound on the time T of a step with m
// microbatches, given that layers cannot be divided. If rank r waits head_r
// seconds before its first layer and, after its last action, rest_r seconds or
// for a sum of gradients, it has time for at most
//
//   n_r(T) = floor((T - head_r - rest_r) / (m t_j))
//
// of the j longest layers, each of at least t_j seconds; for fewer if their
// parameters exceed its memory, or if lack of memory costs time (Ramp.h). So
// sum_r n_r(T) >= j must hold. Some rank also runs the next shorter layer; the
// inequality must still hold if the time of that layer is subtracted on this
// rank. Each rank ends with the sum of a different layer: all ranks but q wait
// for the (q+1)-th smallest sum or a larger one.
//
//===----------------------------------------------------------------------===//

#ifndef STAGEWRIGHT_PLANNING_BOUNDS_WHOLELAYERS_H
#define STAGEWRIGHT_PLANNING_BOUNDS_WHOLELAYERS_H

#include "Bounds/Ramp.h"

namespace stagewright {

/// The `count` longest layers: each takes at least `seconds` for a microbatch
/// and at least `bytes` of memory. The next shorter layer takes `other`.
struct Longest {
  double seconds, bytes = 0;
  size_t count = 0;
  double other = 0;
};

/// The ranks of a pipeline, in the order of their first layers. Times are in
/// seconds, memory is in bytes.
struct Ranks {
  std::vector<double> heads, rests; ///< By rank.
  std::vector<double> sums;         ///< By layer, smallest first.
  double microbatches;
  /// Time of all forwards of a microbatch, if one must pass them all before any
  /// backward; else 0.
  double firstPass;
  double memory;
  const Ramp &ramp;

  /// Min time that rank `r` loses to lack of memory before the first backward,
  /// with `bytes` of parameters, gradients and state.
  double loss(size_t r, double bytes) const {
    return ramp.loss(firstPass - heads[r], memory - bytes, microbatches);
  }

  double places(double time, const Longest &layers, size_t few,
                size_t busy) const;
  bool hold(const std::vector<Longest> &longest, double time) const;
  double leastTime(const std::vector<Longest> &longest, double atLeast) const;
};

/// For each of the few largest distinct times in `total` (by layer, of one
/// microbatch): the layers of `problem` that take at least as long.
std::vector<Longest> longestOf(const Problem &problem,
                               const std::vector<double> &total);

} // namespace stagewright

#endif // STAGEWRIGHT_PLANNING_BOUNDS_WHOLELAYERS_H
