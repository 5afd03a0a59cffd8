//===- PrmLoads.h - loads of intervals on one block -------------*- C++ -*-===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Private to this folder: the costs of layers [l, l2) on one block of devices
// (PrmBlocks.h), in constant time unless memory is short.
//
//===----------------------------------------------------------------------===//

#ifndef STAGEWRIGHT_PLANNING_PRMLOADS_H
#define STAGEWRIGHT_PLANNING_PRMLOADS_H

#include "Spp/Prm.h"
#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <map>

namespace stagewright {

class PrmLoads {
public:
  PrmLoads(const Problem &problem, const ChainCosts &costs,
           const PrmBlocks &blocks, const PrmOptions &options);

  /// Selects the block of the queries that follow.
  void select(const PrmBlock &block);

  /// Seconds of all microbatches, and the tail if it counts, on layers [l, l2)
  /// as the `fromEnd`-th stage from the end; infinite if they do not fit, or
  /// may not be a stage. Grows with the interval.
  double load(size_t l, size_t l2, int64_t fromEnd) const {
    double all = computeLoad(l, l2, fromEnd);
    if (hasTail)
      all += options.drain.empty()
                 ? tail(l, l2)
                 : std::max(0.0, tail(l, l2) - options.drain[l]);
    return all;
  }
  /// load() without the tail of the all-reduce.
  double computeLoad(size_t l, size_t l2, int64_t fromEnd) const {
    if (options.rules && !options.rules->allows(l, l2, width))
      return std::numeric_limits<double>::infinity();
    double all = microbatches * (work[l2] - work[l]);
    if (inTurn(l, l2))
      all = turnScale * (work[l2] - work[l]);
    return options.memory ? all + excess(l, l2, fromEnd) : all;
  }
  /// The tail of the all-reduce alone; 0 if it does not count.
  double tailOf(size_t l, size_t l2) const { return hasTail ? tail(l, l2) : 0; }
  /// Seconds of one microbatch on layers [0, l): forward and backward, and
  /// forward only.
  double bothWays(size_t l) const { return work[l]; }
  double there(size_t l) const {
    return forwardShare * costs.forward[deviceClass][l];
  }
  /// The fill of layers [0, l): seconds of one microbatch in the directions
  /// that the options count, times their weight.
  double fill(size_t l) const { return fills[l]; }

  /// Whether layers [l, l2) need recomputation of the whole forward: no level
  /// fits, not even with other shares of the replicas, and offloading does not
  /// fit or is slower.
  bool recomputes(size_t l, size_t l2, int64_t fromEnd) const {
    return options.memory && !fits(l, l2, fromEnd, 0) &&
           std::isinf(again(l, l2, fromEnd)) &&
           std::isinf(sharing(l, l2, fromEnd, options.memory->mostLevels())) &&
           offloading(l, l2, fromEnd) >
               costs.forward[deviceClass][l2] - costs.forward[deviceClass][l];
  }

private:
  double tail(size_t l, size_t l2) const;
  double excess(size_t l, size_t l2, int64_t fromEnd) const;
  /// Seconds of recomputation per microbatch at the lowest levels that fit;
  /// infinite if none fit.
  double again(size_t l, size_t l2, int64_t fromEnd) const;
  /// Seconds that offloading to the host adds to a microbatch; infinite if that
  /// is impossible or does not fit.
  double offloading(size_t l, size_t l2, int64_t fromEnd) const;
  bool inTurn(size_t l, size_t l2) const {
    return hasTurns && costs.unsliceable[l2] > costs.unsliceable[l];
  }
  /// Microbatches that the `fromEnd`-th stage keeps.
  int64_t inFlight(size_t l, size_t l2, int64_t fromEnd) const;
  bool fits(size_t l, size_t l2, int64_t fromEnd, int64_t form) const {
    return inFlight(l, l2, fromEnd) <= limits->most(l, l2, form, inTurn(l, l2));
  }
  /// With the shares of FitShares.h, which fit in memory: the time of the
  /// slowest replica as a multiple, at least 1, of that with shares by speed.
  /// Infinite if no shares fit, or if shares may not be chosen.
  double sharing(size_t l, size_t l2, int64_t fromEnd, int64_t form) const;
  double computeSharing(size_t l, size_t l2, int64_t kept, int64_t form) const;
  void selectTail(const PrmBlock &block);
  void selectRooms(const PrmBlock &block);

  const Problem &problem;
  const ChainCosts &costs;
  const PrmBlocks &blocks;
  const PrmOptions &options;
  double microbatches;
  std::vector<double> work, fills; ///< bothWays() and fill(), by layer.
  std::vector<double> reduced;     ///< Seconds to all-reduce layers [0, l).
  /// late[k][l]: the max over the 2^k layers j from l on of reduced[j + 1] less
  /// the seconds of the backwards of the layers before j.
  std::vector<std::vector<double>> late;
  std::vector<double> running; ///< Backwards of layers [0, l).
  bool hasTail = false, hasTurns = false;
  double turnScale = 1, forwardShare = 1, reduceLatency = 0;
  size_t deviceClass = 0, width = 1;
  double hostBandwidth = 0;     ///< Of the block's slowest device; 0: none.
  RoomLimits *limits = nullptr; ///< Of the distinct devices of the block.
  /// Of the block's devices, if they differ: seconds of all layers, memory.
  std::vector<std::pair<double, int64_t>> unequal;
  double slowest = 0; ///< Seconds of all layers on the slowest replica.
  /// sharing() of the block, by interval, microbatches kept and form.
  mutable std::map<std::array<int64_t, 4>, double> shared;
  std::vector<size_t> classOf;
};

inline double PrmLoads::tail(size_t l, size_t l2) const {
  if (!costs.overlapAllReduce) {
    // One collective for all of a stage's gradients.
    bool any = costs.gradientLayers[l2] > costs.gradientLayers[l];
    return any ? reduced[l2] - reduced[l] + reduceLatency : 0;
  }
  size_t k = std::bit_width(l2 - l) - 1;
  double most = std::max(late[k][l], late[k][l2 - (size_t(1) << k)]);
  return std::max(0.0, most - (reduced[l] - running[l]));
}

} // namespace stagewright

#endif // STAGEWRIGHT_PLANNING_PRMLOADS_H
