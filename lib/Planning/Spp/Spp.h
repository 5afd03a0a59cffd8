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

/// What planSpp() finds on these lists of devices alone; the plans `others`, of
/// stages that share no devices, are candidates too, and so are their lists.
Result<Plan> planOnLists(const Problem &problem, const Network &network,
                         std::vector<std::vector<size_t>> orders,
                         const std::vector<Plan> &others = {});

/// The lists of devices worth searching: on small clusters all that local rules
/// find, on larger ones RDO's, another one, and those that promise most.
std::vector<std::vector<size_t>> chooseLists(const Problem &problem,
                                             const Network &network);

} // namespace stagewright

#endif // STAGEWRIGHT_PLANNING_SPP_H
