//===- FitLevels.h - recomputation levels that fit in memory ----*- C++ -*-===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// If the stages of a device do not fit, the levels of layers (Layer::levels)
// are raised by one at a time until they do, first those whose raise costs the
// fewest seconds per byte saved. The levels of a layer lie on a convex curve,
// so no other levels cost fewer seconds, except for the last raise, which may
// save more bytes than needed (as in the fractional knapsack problem). If
// devices can copy to their hosts, stashes may be offloaded instead
// (FitOffload.cpp).
//
//===----------------------------------------------------------------------===//

#ifndef STAGEWRIGHT_LIB_PLANNING_FITLEVELS_H
#define STAGEWRIGHT_LIB_PLANNING_FITLEVELS_H

#include "LayerIndex.h"
#include <functional>

namespace stagewright {

/// The first number in [low, high) for which `is` holds, found by binary
/// search; the larger of `low` and `high` if there is none. If `is` holds for a
/// number, it must hold for all larger ones.
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

/// A stage whose levels may be raised, and the number of its stashes that a
/// device holds at the same time.
struct LeveledStage {
  StagePlan *stage;
  double copies = 1;
  double between = 0; ///< The same for what its I keeps for its W.
};

/// Bytes of a microbatch that each layer keeps for its own backward, by layer
/// and level, even if levels may not be raised. A value that the backwards of
/// several layers use counts for its producer if that is one of these layers,
/// else for the first of them.
std::vector<std::vector<double>> bytesKept(const Problem &problem);

/// The bytes of a microbatch that layers keep at each level, and what raising
/// levels costs. Built once for a problem.
class LevelCurve {
public:
  explicit LevelCurve(const Problem &problem);

  const LayerIndex &layers() const { return index; }

  /// Whether nothing can make a plan fit: no level may be raised, and nothing
  /// may be offloaded.
  bool empty() const { return !mayRise && !problem.mayOffload(); }

  /// Gives the layers of `stages` the level that the problem requests, if it
  /// requests one.
  void state(std::vector<StagePlan> &stages) const;

  /// The plan under `order` with everything offloaded that the plan or the
  /// problem requests; none if neither does, or if nothing can be offloaded.
  std::optional<Plan> offloadAll(const Plan &plan, ExecutionOrder order) const;

  /// Gives `stage` the levels, and offloads the layers, with which it needs the
  /// least memory of its devices, if fit() may change them.
  void leastMemory(StagePlan &stage) const;

  /// Gives every stage of `plan` the lowest levels at which it fits under
  /// `order`, else the highest; or offloads layers if a microbatch then takes
  /// less time. Stages share no devices.
  void fit(Plan &plan, ExecutionOrder order) const;

  /// Gives `stages`, which share a device of class `deviceClass`, the lowest
  /// levels for which `fits` holds, else the highest. A stage that states its
  /// levels, or that repeats its whole forward, is not changed.
  void fit(std::vector<LeveledStage> stages, size_t deviceClass,
           const std::function<bool()> &fits) const;

private:
  /// Whether `stage` may offload: the problem allows it, all its devices have a
  /// link to their hosts, and it has neither `recompute` nor alternatives.
  bool mayOffload(const StagePlan &stage) const;
  void fitOffload(Plan &plan, size_t stage, ExecutionOrder order,
                  const std::function<bool()> &fits) const;
  Seconds addedTo(const StagePlan &stage, ExecutionOrder order) const;

  const Problem &problem;
  std::vector<size_t> classOf; ///< By device.
  bool mayRise = false;
  LayerIndex index;
  /// bytesKept(), and the same for what I keeps for W; empty unless levels may
  /// be raised.
  std::vector<std::vector<double>> kept, between;
};

} // namespace stagewright

#endif // STAGEWRIGHT_LIB_PLANNING_FITLEVELS_H
