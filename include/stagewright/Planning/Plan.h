//===- Plan.h - what a planner answers --------------------------*- C++ -*-===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Stages on devices, and what they promise.
//
//===----------------------------------------------------------------------===//

#ifndef STAGEWRIGHT_PLANNING_PLAN_H
#define STAGEWRIGHT_PLANNING_PLAN_H

#include "stagewright/Planning/Problem.h"

namespace stagewright {

/// Layers [first, end) on one device.
struct StagePlan {
  int64_t first = 0, end = 0;
  size_t device = 0;
  StageTimes times; ///< Of one microbatch on that device.
  Bytes memory;     ///< Parameters, gradients, stash, transfers; no workspace.
};

struct Plan {
  std::string planner;
  std::vector<StagePlan> stages;
  /// Simulated makespan of the step.
  Seconds time;
  /// No plan with this many stages on these devices in this order is faster in
  /// the same simulation.
  Seconds bound;
};

/// Proves that `plan` answers `problem`: stages cover the chain in order, each
/// on a device of its own, and fit its memory.
Status verify(const Problem &problem, const Plan &plan);

/// A planner: problem in, plan out, with check() before and verify() after.
struct Planner {
  const char *name; ///< As in `planner=`.
  Result<Plan> (*plan)(const Problem &problem);
};

/// The planner called `name`; the error lists those there are.
Result<Planner> findPlanner(std::string_view name);

/// Cuts the chain so that the most loaded stage or cut is as little loaded as
/// possible, by an exact dynamic program: load of a stage is its F + I + W, of
/// a cut the transfer time of all values across it, both ways; a value that
/// skips stages loads every cut on its way. Stage s lies on device s. Among the
/// optima the one with the least sum of squared loads. Memory is checked with
/// the microbatches that the schedule keeps in flight. Time O(S L^2) after
/// O(L * (values + L)).
///
/// Source: the chains-on-chains partitioning problem (Bokhari 1988), with the
/// cut loads of SPP's PRM.
Result<Plan> planBalance(const Problem &problem);

} // namespace stagewright

#endif // STAGEWRIGHT_PLANNING_PLAN_H
