//===- Uniform.h - the plans that people make by hand -----------*- C++ -*-===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Data parallel times pipeline parallel times chunks times recomputation: every
// stage has an equal share of the work and equally many devices, every layer
// computes equally much again, as launch scripts have it (Megatron-LM's
// --pipeline-model-parallel-size, --num-layers-per-virtual-pipeline-stage and
// --recompute-num-layers). They are few enough to try them all, by the same
// clock as every plan, and say what planning is worth.
//
//===----------------------------------------------------------------------===//

#ifndef STAGEWRIGHT_PLANNING_UNIFORM_H
#define STAGEWRIGHT_PLANNING_UNIFORM_H

#include "stagewright/Planning/Plan.h"
#include "stagewright/Scheduling/Generators.h"

namespace stagewright {

/// The fastest plan of one uniform shape that fits, or what that needs.
struct UniformPlan {
  int64_t replicas = 1; ///< Of every stage.
  int64_t ranks = 1;    ///< Devices of one pipeline.
  int64_t chunks = 1;   ///< Stages of each device.
  int64_t level = 0;    ///< Of every layer.
  Bytes need; ///< Where nothing fits, of the device that needs most, at least.
  std::optional<Plan> plan; ///< None: it does not fit, or is not defined.
};

/// All shapes that use every device of `problem`, the fastest first, then those
/// that do not fit, by what they need. Time: a simulation for each shape, each
/// schedule and each level that any layer has.
Result<std::vector<UniformPlan>> uniformPlans(const Problem &problem);

/// Those that fit by time, then the others by what they need.
void sortByTime(std::vector<UniformPlan> &plans);

/// A line for each that fits, beside a plan that takes `time`.
std::string uniformTable(const Problem &problem,
                         const std::vector<UniformPlan> &plans, Seconds time);

} // namespace stagewright

#endif // STAGEWRIGHT_PLANNING_UNIFORM_H
