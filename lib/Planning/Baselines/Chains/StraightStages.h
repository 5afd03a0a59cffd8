//===- StraightStages.h - one device per stage ------------------*- C++ -*-===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Private to this folder: the common part of the planners without replicas.
//
//===----------------------------------------------------------------------===//

#ifndef STAGEWRIGHT_PLANNING_STRAIGHTSTAGES_H
#define STAGEWRIGHT_PLANNING_STRAIGHTSTAGES_H

#include "stagewright/Planning/Plan.h"
#include <functional>

namespace stagewright {

/// Maps seconds[stage][layer], on the device of the stage, to the end of each
/// stage (the layer after its last one); sets the plan's value.
using CutStages = std::function<std::vector<size_t>(
    const std::vector<std::vector<double>> &seconds, Plan &plan)>;

/// A plan of problem.stages stages (0: the min of the numbers of devices and of
/// layers), stage s on device s, cut by `cut` and evaluated.
Result<Plan> planStraightStages(const Problem &problem, const char *name,
                                const char *objective, const CutStages &cut);

} // namespace stagewright

#endif // STAGEWRIGHT_PLANNING_STRAIGHTSTAGES_H
