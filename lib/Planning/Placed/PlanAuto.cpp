//===- PlanAuto.cpp - the better plan of planSpp() and planPlaced() -------===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "stagewright/Planning/Bounds.h"
#include "stagewright/Planning/Placed.h"
#include "stagewright/Planning/Planners.h"
#include <algorithm>

namespace stagewright {

/// Every generator that `problem` can run, except those for twin placements,
/// which hold weights twice.
static PlacedFamily allFamilies(const Problem &problem) {
  PlacedFamily family;
  for (const Generator &generator : allGenerators())
    if (generator.placement != Placement::Twin &&
        !(generator.splitsBackward && problem.wholeBackward))
      family.generators.push_back(generator);
  return family;
}

Result<Plan> planPlaced(const Problem &problem) {
  Result<Plan> plan = planPlaced(problem, allFamilies(problem));
  return plan ? withSearchedOrder(problem, std::move(*plan)) : plan;
}

Result<Plan> planAuto(const Problem &problem) {
  Result<Plan> plan = planAutoBriefly(problem);
  return plan ? plan : whyNoPlan(problem);
}

Result<Plan> planAutoBriefly(const Problem &problem) {
  Result<Plan> plain = planSppBriefly(problem);
  if (plain)
    plain = withSearchedOrder(problem, std::move(*plain));
  // Only planSpp() can plan requested stages and offload=all. A requested
  // number of stages is left to it, too, so that every stage has its own
  // devices.
  if (problem.stages > 0 || !problem.askedStages.empty() ||
      problem.offload == OffloadChoice::All)
    return plain;
  Result<Plan> placed = planPlaced(problem);
  if (!placed || (plain && !savesEnough(placed->time, plain->time)))
    return plain;
  // The bound must also hold for the plans of planSpp().
  if (Result<Network> network = Network::create(problem.cluster))
    placed->familyBound =
        std::min(placed->familyBound, familyLowerBound(problem, *network));
  return placed;
}

} // namespace stagewright
