//===- Spp.h - the default planner on given device lists --------*- C++ -*-===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Private to Spp/.
//
//===----------------------------------------------------------------------===//

#ifndef STAGEWRIGHT_PLANNING_SPP_H
#define STAGEWRIGHT_PLANNING_SPP_H

#include "stagewright/Planning/Evaluate.h"

namespace stagewright {

/// The devices in the order of the stages of `plan`, then the idle ones. A
/// device of several stages is there several times.
std::vector<size_t> listOf(const Problem &problem, const Plan &plan);

/// The plan that planSpp() finds on these lists of devices. The plans `others`,
/// whose stages share no devices, are candidates too; the lists of the first
/// few of them are searched as well.
Result<Plan> planOnLists(const Problem &problem, const Network &network,
                         std::vector<std::vector<size_t>> orders,
                         const std::vector<Plan> &others = {});

/// The lists of devices to search: on small clusters all candidates, on larger
/// ones the first (RDO's) and those of the smallest promiseOf().
std::vector<std::vector<size_t>> chooseLists(const Problem &problem,
                                             const Network &network);

} // namespace stagewright

#endif // STAGEWRIGHT_PLANNING_SPP_H
