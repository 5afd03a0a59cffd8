//===- AskedStages.h - stages that the user asks for ------------*- C++ -*-===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Problem::askedStages fixes some stages of a plan: their layers and numbers of
// replicas. Under these constraints the planner `spp`, and `auto` with it,
// finds the other stages and the devices of all: asked stages restrict the
// intervals of its dynamic program. `fixed` checks the given plan. No other
// planner accepts asked stages.
//
//===----------------------------------------------------------------------===//

#ifndef STAGEWRIGHT_PLANNING_ASKEDSTAGES_H
#define STAGEWRIGHT_PLANNING_ASKEDSTAGES_H

#include "stagewright/Planning/Plan.h"

namespace stagewright {

/// Checks the asked stages of `problem` on their own: layers in range and in
/// order, and enough devices, samples, microbatches and allowed replicas.
Status checkAskedStages(const Problem &problem);

/// Checks that `plan` has every asked stage; the error states what is asked for
/// and what the plan has.
Status verifyAskedStages(const Problem &problem, const Plan &plan);

/// Which intervals of layers may be stages. If an interval between possible
/// cuts is not allowed on some number of devices, no interval that contains it
/// is allowed on as many.
class StageRules {
public:
  explicit StageRules(const Problem &problem);

  /// Whether no stage is asked for.
  bool isEmpty() const { return asked.empty(); }
  /// Whether a stage may begin at `layer`, and the one before it may end there.
  bool mayCut(size_t layer) const { return asked.empty() || !inside[layer]; }
  /// Whether [first, end), which begins and ends at possible cuts, may be a
  /// stage on `width` devices.
  bool allows(size_t first, size_t end, size_t width) const {
    return asked.empty() || asked[end] == asked[first] ||
           (endOf[first] == end && widthOf[first] == width);
  }

private:
  std::vector<size_t> asked; ///< By cut: layers before it in asked stages.
  std::vector<bool> inside;  ///< By cut: whether it is inside an asked stage.
  /// By layer: the end and the replicas of the asked stage that begins there;
  /// else 0.
  std::vector<size_t> endOf, widthOf;
};

} // namespace stagewright

#endif // STAGEWRIGHT_PLANNING_ASKEDSTAGES_H
