//===- DapplePlans.h - DAPPLE's plans of a problem --------------*- C++ -*-===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Private to this room: what DAPPLE's search finds, for planners that compare.
//
//===----------------------------------------------------------------------===//

#ifndef STAGEWRIGHT_PLANNING_DAPPLEPLANS_H
#define STAGEWRIGHT_PLANNING_DAPPLEPLANS_H

#include "stagewright/Cost/Network.h"
#include "stagewright/Planning/Plan.h"

namespace stagewright {

/// One plan for each number of stages, the one of least L first; `value` is L.
/// Not evaluated, and not looked at for memory.
std::vector<Plan> dapplePlans(const Problem &problem, const Network &network);

/// About how many stages that search looks at.
double dappleSteps(const Problem &problem, const Network &network);

} // namespace stagewright

#endif // STAGEWRIGHT_PLANNING_DAPPLEPLANS_H
