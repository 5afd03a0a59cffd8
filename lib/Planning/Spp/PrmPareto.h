//===- PrmPareto.h - both parts of a plan's bound at once -------*- C++ -*-===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The lower bound of a plan is the larger of two: one with the backward of the
// last microbatch, one with the tails of the all-reduces. A dynamic program can
// minimise each alone (Prm.h), but not their maximum: of two suffixes of a
// plan, either may turn out better. So each state keeps its Pareto-optimal
// suffixes.
//
//===----------------------------------------------------------------------===//

#ifndef STAGEWRIGHT_PLANNING_PRMPARETO_H
#define STAGEWRIGHT_PLANNING_PRMPARETO_H

#include "Spp/Prm.h"

namespace stagewright {

/// At most `most` plans on one list of devices whose bound is below `limit`,
/// the lowest first. Each state keeps only the few best suffixes, so that such
/// a plan may be missed. `options` says how memory is used.
std::vector<PrmPlan> plansBelow(const Problem &problem, const ChainCosts &costs,
                                const PrmBlocks &blocks,
                                const PrmOptions &options, double limit,
                                size_t most);

} // namespace stagewright

#endif // STAGEWRIGHT_PLANNING_PRMPARETO_H
