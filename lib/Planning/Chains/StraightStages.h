//===- StraightStages.h - one device a stage ----------------*- C++ -*-===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Private to this room: what the baselines without replicas have in common.
//
//===----------------------------------------------------------------------===//

#ifndef STAGEWRIGHT_PLANNING_STRAIGHTSTAGES_H
#define STAGEWRIGHT_PLANNING_STRAIGHTSTAGES_H

#include "stagewright/Planning/Plan.h"
#include <functional>

namespace stagewright {

/// Seconds of each layer on the device of each stage, to the ends of the
/// stages; sets the plan's value.
using CutStages = std::function<std::vector<size_t>(
    const std::vector<std::vector<double>> &seconds, Plan &plan)>;

/// As many stages as asked for, else as devices or layers, stage s on device s,
/// cut by `cut` and evaluated.
Result<Plan> planStraightStages(const Problem &problem, const char *name,
                                const char *objective, const CutStages &cut);

} // namespace stagewright

#endif // STAGEWRIGHT_PLANNING_STRAIGHTSTAGES_H
