//===- SearchOrder.cpp - search for a faster order of a plan --------------===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Placed/PlacedSearch.h"
#include "stagewright/Planning/Planners.h"
#include <algorithm>

namespace stagewright {

/// Whether the search can order `plan`: every stage runs whole microbatches,
/// and none recomputes its whole forward or offloads.
static bool isSearchable(const Problem &problem, const Plan &plan) {
  return std::all_of(
      plan.stages.begin(), plan.stages.end(), [&](const StagePlan &stage) {
        bool isWhole = stage.devices.size() == 1 || takesTurns(problem, stage);
        return isWhole && stage.rows.empty() && !stage.recompute &&
               stage.offload.empty();
      });
}

Plan withSearchedOrder(const Problem &problem, Plan plan) {
  if (problem.forwardOnly || plan.stages.size() < 2 ||
      !savesEnough(plan.planBound, plan.time) || !isSearchable(problem, plan))
    return plan;
  Result<Network> network = checkedNetwork(problem);
  if (!network)
    return plan;
  const Generator &searched = searchedGenerator(!problem.wholeBackward);
  Plan other = plan;
  if (!evaluatePlaced(problem, *network, searched, other) ||
      !savesEnough(other.time, plan.time))
    return plan;
  // The bound of the family holds for every order.
  other.familyBound = std::min(other.time, plan.familyBound);
  other.explanation.push_back("an order found by search saves " +
                              precisely(plan.time - other.time) +
                              " compared with " + plan.orderName() + " order");
  return other;
}

} // namespace stagewright
