//===- Uniform.h - uniform plans, as made by hand ---------------*- C++ -*-===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Combinations of data parallelism, pipeline parallelism, chunks and
// recomputation, as set in launch scripts (Megatron-LM's
// --pipeline-model-parallel-size, --num-layers-per-virtual-pipeline-stage and
// --recompute-num-layers): stages have equal shares of the work and equally
// many devices, layers have equal levels of recomputation. There are few such
// plans, so all are tried and timed like any other plan. They are a baseline
// for the planners.
//
//===----------------------------------------------------------------------===//

#ifndef STAGEWRIGHT_PLANNING_BASELINES_UNIFORM_H
#define STAGEWRIGHT_PLANNING_BASELINES_UNIFORM_H

#include "stagewright/Planning/UniformPlan.h"

namespace stagewright {

/// The shapes that use every device of `problem`, the fastest first, then those
/// that do not fit, by their need; not those that no schedule can run. Runs
/// about one simulation for each shape, schedule and level that any layer has.
Result<std::vector<UniformPlan>> uniformPlans(const Problem &problem);

/// Sorts the plans: first those that fit, by time, then the others, by need.
void sortByTime(std::vector<UniformPlan> &plans);

/// A line for each plan that fits, compared with a plan that takes `time`.
std::string uniformTable(const Problem &problem,
                         const std::vector<UniformPlan> &plans, Seconds time);

} // namespace stagewright

#endif // STAGEWRIGHT_PLANNING_BASELINES_UNIFORM_H
