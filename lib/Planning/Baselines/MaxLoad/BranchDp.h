//===- BranchDp.h - branches contracted as in PipeDream ---------*- C++ -*-===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Private to this folder.
//
//===----------------------------------------------------------------------===//

#ifndef STAGEWRIGHT_PLANNING_BRANCHDP_H
#define STAGEWRIGHT_PLANNING_BRANCHDP_H

#include "stagewright/Planning/Plan.h"

namespace stagewright {

/// planBranchDp(), except that no layers are contracted because of outputs of
/// the layers `ignored`: the public program ignores inputs and masks of its
/// workloads, which it names by number.
Result<Plan> planBranches(const Problem &problem,
                          const std::vector<int64_t> &ignored);

} // namespace stagewright

#endif // STAGEWRIGHT_PLANNING_BRANCHDP_H
