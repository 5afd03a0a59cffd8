//===- FitLevels.h - what layers compute again to fit -----------*- C++ -*-===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Where stages of a device do not fit, layers go up in level (Layer::levels)
// one step at a time, first the steps that cost the fewest seconds for a byte,
// until they fit. Levels of a layer lie on a convex curve, so that is the
// fewest seconds for the bytes but for the last step (the fractional knapsack).
// Where devices reach their hosts, layers may leave what they keep there
// instead (FitOffload.cpp).
//
//===----------------------------------------------------------------------===//

#ifndef STAGEWRIGHT_LIB_PLANNING_FITLEVELS_H
#define STAGEWRIGHT_LIB_PLANNING_FITLEVELS_H

#include "LayerIndex.h"
#include <functional>

namespace stagewright {

/// The first number from `low` to before `high` for which `is`, which holds
/// from there on; the larger of the two if there is none.
template <typename Is> size_t firstWhere(size_t low, size_t high, Is is) {
  while (low < high) {
    size_t middle = low + (high - low) / 2;
    if (is(middle))
      high = middle;
    else
      low = middle + 1;
  }
  return low;
}

/// A stage whose layers may go up in level, and how often a device holds what
/// it keeps.
struct LeveledStage {
  StagePlan *stage;
  double copies = 1;
};

/// Bytes of a microbatch that each layer keeps for its own backward, by layer
/// and level, whether levels may be taken or not. What several layers need is
/// kept by the one that makes it, or the first of them.
std::vector<std::vector<double>> bytesKept(const Problem &problem);

/// The levels of layers: bytes of a microbatch that each step saves, and what
/// steps cost. Built once for a problem.
class LevelCurve {
public:
  explicit LevelCurve(const Problem &problem);

  const LayerIndex &layers() const { return index; }

  /// Whether nothing can be done for a plan that does not fit: no layer may go
  /// up, and none be offloaded.
  bool empty() const { return !mayRise && !problem.mayOffload(); }

  /// Gives the layers of `stages` the level that the problem asks for, if it
  /// does.
  void state(std::vector<StagePlan> &stages) const;

  /// The plan under `order` with all offloaded that it or the problem asks for;
  /// none where neither does, or nothing is.
  std::optional<Plan> offloadAll(const Plan &plan, ExecutionOrder order) const;

  /// Gives every stage of `plan`, which share no devices, the first levels at
  /// which it fits under `order`, or the highest; or has layers offloaded,
  /// where a microbatch takes less time so.
  void fit(Plan &plan, ExecutionOrder order) const;

  /// Gives `stages`, which share a device of class `deviceClass`, the first
  /// levels at which `fits` says so; the highest if none does. A stage whose
  /// levels are stated, or that runs its whole forward again, stays as it is.
  void fit(std::vector<LeveledStage> stages, size_t deviceClass,
           const std::function<bool()> &fits) const;

private:
  /// Whether the devices of `stage` reach their hosts.
  bool mayOffload(const StagePlan &stage) const;
  void fitOffload(Plan &plan, size_t stage, ExecutionOrder order,
                  const std::function<bool()> &fits) const;
  Seconds addedTo(const StagePlan &stage, ExecutionOrder order) const;

  const Problem &problem;
  std::vector<size_t> classOf; ///< By device.
  bool mayRise = false;
  LayerIndex index;
  /// Bytes that a layer keeps for itself, by layer and level.
  std::vector<std::vector<double>> kept;
};

} // namespace stagewright

#endif // STAGEWRIGHT_LIB_PLANNING_FITLEVELS_H
