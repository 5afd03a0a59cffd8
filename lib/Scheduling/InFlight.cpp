//===- InFlight.cpp - microbatches held between phases --------------------===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "stagewright/Scheduling/InFlight.h"
#include "stagewright/Scheduling/StageGraph.h"
#include <algorithm>

namespace stagewright {

std::vector<int64_t> stashedMicrobatches(const Schedule &schedule) {
  std::vector<int64_t> now(schedule.stages, 0), most(schedule.stages, 0);
  std::vector<bool> hasBackward(schedule.stages, false);
  for (const Order &order : schedule.ranks)
    for (const Action &action : order) {
      if (action.kind == ActionKind::Forward)
        most[action.stage] = std::max(most[action.stage], ++now[action.stage]);
      if (!runsPhase(action.kind, ActionKind::WeightGradient))
        continue;
      --now[action.stage];
      hasBackward[action.stage] = true;
    }
  for (int64_t stage = 0; stage < schedule.stages; ++stage)
    if (!hasBackward[stage])
      most[stage] = 0;
  return most;
}

} // namespace stagewright
