//===- Request.h - a user's options for a plan ------------------*- C++ -*-===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The common path of pipeline-partition, pp-compile and pp-plan from a user's
// options to a planner: equal options give equal plans.
//
//===----------------------------------------------------------------------===//

#ifndef STAGEWRIGHT_PLANNING_REQUEST_H
#define STAGEWRIGHT_PLANNING_REQUEST_H

#include "stagewright/Planning/Plan.h"
#include <optional>
#include <string_view>

namespace stagewright {

/// The execution orders that programs can have: a generator of the same name
/// writes each. evaluate() simulates plans in these orders, evaluatePlaced() in
/// the schedules of other generators.
inline constexpr ExecutionOrder kProgramOrders[] = {
    ExecutionOrder::OneFOneB, ExecutionOrder::Window,
    ExecutionOrder::EarlyBackward, ExecutionOrder::GPipe};

/// The one of kProgramOrders whose generator is `schedule`, if any.
std::optional<ExecutionOrder> programOrder(std::string_view schedule);

/// The options of a user, in addition to the problem.
struct PlanRequest {
  std::string planner = "auto";  ///< In allPlanners(); unused if hasPlan.
  std::string schedule = "auto"; ///< In allGenerators(); auto: the fastest.
  int64_t chunks = 0;            ///< Stages per device; 0: the best.
  std::string placement = {};    ///< Empty: the best.
  /// For planner `auto`: report the errors of planAutoBriefly().
  bool isBrief = false;

  /// Checks each option and their combination. `stages`: the requested number,
  /// 0 for none; `hasPlan`: whether the problem has a fixed plan.
  Status check(int64_t stages, bool hasPlan) const;
};

/// Plans `problem`. If the requested schedule is in kProgramOrders, its
/// order replaces the problem's orders.
Result<Plan> makePlan(Problem problem, const PlanRequest &request);

/// Completes `plan` for a program: assigns samples to replicas that share
/// microbatches. Fails if a replica would get none, or if stages share a device
/// and the plan has no schedule.
Status finishForProgram(const Problem &problem, Plan &plan);

/// The schedule for which `plan` was made; 1f1b if no generator has its order.
std::string scheduleOf(const Plan &plan);

} // namespace stagewright

#endif // STAGEWRIGHT_PLANNING_REQUEST_H
