//===- PrmPareto.h - both parts of a plan's bound at once -------*- C++ -*-===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The lower bound of a plan is the larger of two: with the way back of the last
// microbatch, and with the tails of the all-reduces. Each alone is a dynamic
// program (Prm.h), their maximum is not: of two ways on, either may turn out
// better. So each state keeps those that are worse in neither.
//
//===----------------------------------------------------------------------===//

#ifndef STAGEWRIGHT_PLANNING_PRMPARETO_H
#define STAGEWRIGHT_PLANNING_PRMPARETO_H

#include "Spp/Prm.h"

namespace stagewright {

/// At most `most` plans on one list whose bound is below `limit`, the least
/// first. Of each state the few best ways on are kept, so that a plan of that
/// kind may be missed. `options` says how memory is used.
std::vector<PrmPlan> plansBelow(const Problem &problem, const ChainCosts &costs,
                                const PrmBlocks &blocks,
                                const PrmOptions &options, double limit,
                                size_t most);

} // namespace stagewright

#endif // STAGEWRIGHT_PLANNING_PRMPARETO_H
