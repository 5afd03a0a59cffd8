//===- Spp.h - the default planner on given lists ---------------*- C++ -*-===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Private to this room.
//
//===----------------------------------------------------------------------===//

#ifndef STAGEWRIGHT_PLANNING_SPP_H
#define STAGEWRIGHT_PLANNING_SPP_H

#include "stagewright/Planning/Evaluate.h"

namespace stagewright {

/// What planSpp() finds on these lists of devices alone.
Result<Plan> planOnLists(const Problem &problem, const Network &network,
                         const std::vector<std::vector<size_t>> &orders);

} // namespace stagewright

#endif // STAGEWRIGHT_PLANNING_SPP_H
