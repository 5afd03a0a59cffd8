//===- DapplePlans.h - DAPPLE's plans of a problem --------------*- C++ -*-===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Private to the planners: the results of DAPPLE's search.
//
//===----------------------------------------------------------------------===//

#ifndef STAGEWRIGHT_PLANNING_DAPPLEPLANS_H
#define STAGEWRIGHT_PLANNING_DAPPLEPLANS_H

#include "stagewright/Cost/Network.h"
#include "stagewright/Planning/Plan.h"

namespace stagewright {

/// One plan for each number of stages, sorted by L, DAPPLE's estimated latency,
/// which is stored in `value`. Not evaluated, and memory is not checked.
std::vector<Plan> dapplePlans(const Problem &problem, const Network &network);

/// Estimated number of stages that the search considers.
double dappleSteps(const Problem &problem, const Network &network);

} // namespace stagewright

#endif // STAGEWRIGHT_PLANNING_DAPPLEPLANS_H
