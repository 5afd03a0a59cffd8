//===- UniformPlan.h - a plan of one uniform shape --------------*- C++ -*-===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A plan with equal stages; reports list such plans beside another plan.
// Planning/Baselines/Uniform.h finds them.
//
//===----------------------------------------------------------------------===//

#ifndef STAGEWRIGHT_PLANNING_UNIFORMPLAN_H
#define STAGEWRIGHT_PLANNING_UNIFORMPLAN_H

#include "stagewright/Planning/Plan.h"
#include <optional>

namespace stagewright {

/// The fastest plan of one uniform shape that fits, or the memory that it
/// needs.
struct UniformPlan {
  int64_t replicas = 1; ///< Of every stage.
  int64_t ranks = 1;    ///< Devices of one pipeline.
  int64_t chunks = 1;   ///< Stages of each device.
  int64_t level = 0;    ///< Of recomputation, of every layer.
  /// If none fits: min over the plans of the need of their fullest device.
  Bytes need;
  std::optional<Plan> plan; ///< None if no plan of this shape fits.
};

} // namespace stagewright

#endif // STAGEWRIGHT_PLANNING_UNIFORMPLAN_H
