//===- Request.h - a plan as tools and passes ask for it --------*- C++ -*-===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What pipeline-partition, pp-compile and pp-plan have in common: from the
// options of a user to the planner, so that the same ones give the same plan.
//
//===----------------------------------------------------------------------===//

#ifndef STAGEWRIGHT_PLANNING_REQUEST_H
#define STAGEWRIGHT_PLANNING_REQUEST_H

#include "stagewright/Planning/Plan.h"
#include <string_view>
#include <utility>

namespace stagewright {

/// The schedules that planners simulate themselves, with transfers that occupy
/// their links and replicas that share microbatches, by the execution order
/// that stands for each.
inline constexpr std::pair<std::string_view, ExecutionOrder>
    kSimulatedSchedules[] = {{"1f1b", ExecutionOrder::OneFOneB},
                             {"window", ExecutionOrder::Window},
                             {"early-backward", ExecutionOrder::CapB},
                             {"gpipe", ExecutionOrder::GPipe}};

/// What a user may ask for beside the problem.
struct PlanRequest {
  std::string planner = "auto";  ///< Of allPlanners(); ignored with a plan.
  std::string schedule = "auto"; ///< Of allGenerators(); auto: the fastest.
  int64_t chunks = 0;            ///< Stages of each device; 0: what is best.
  std::string placement = {};    ///< Empty: what is best.

  /// Whether each of these can be, and together; `stages` and `hasPlan` as in
  /// the problem, 0 stages where none are asked for.
  Status check(int64_t stages, bool hasPlan) const;
};

/// The plan of `problem`. A schedule that some order stands for takes the place
/// of the problem's orders.
Result<Plan> makePlan(Problem problem, const PlanRequest &request);

/// Makes of `plan` one that a program can state: replicas that share
/// microbatches are told their samples. Fails where one would get none, or
/// where stages share a device and no schedule says how.
Status finishForProgram(const Problem &problem, Plan &plan);

/// The schedule that `plan` was made for: 1f1b where no generator has its
/// order.
std::string scheduleOf(const Plan &plan);

} // namespace stagewright

#endif // STAGEWRIGHT_PLANNING_REQUEST_H
