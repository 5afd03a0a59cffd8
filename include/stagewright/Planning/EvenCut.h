//===- EvenCut.h - plans cut into stages of even time -----------*- C++ -*-===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The cut with which planPlaced() starts, as a plan of its own. It depends only
// on the times of layers, not on schedules, transfers or memory.
//
//===----------------------------------------------------------------------===//

#ifndef STAGEWRIGHT_PLANNING_EVENCUT_H
#define STAGEWRIGHT_PLANNING_EVENCUT_H

#include "stagewright/Planning/Placed.h"

namespace stagewright {

/// Checks `problem`, whose stages may outnumber its devices, and returns its
/// network.
Result<Network> checkedNetwork(const Problem &problem);

/// The ends of the stages of the cut with the least max time of a stage; of
/// several such cuts, the most even one.
std::vector<int64_t> evenCut(const Problem &problem,
                             const PlacedRequest &request);

struct EvenPlan {
  std::optional<Plan> plan;
  /// If the cut does not fit in memory: the bytes that it needs on the device
  /// that lacks most.
  Bytes need = {};
};

/// The plan of the even cut under the fastest schedule of `request`. fits()
/// must hold for all its generators. No plan if the first pipeline alone takes
/// at least `limit`.
EvenPlan planEvenCut(const Problem &problem, const Network &network,
                     const PlacedRequest &request, Seconds limit);

} // namespace stagewright

#endif // STAGEWRIGHT_PLANNING_EVENCUT_H
