//===- Plan.h - stages on devices, with times and memory --------*- C++ -*-===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The result of a planner: stages on devices, and their predicted cost.
//
//===----------------------------------------------------------------------===//

#ifndef STAGEWRIGHT_PLANNING_PLAN_H
#define STAGEWRIGHT_PLANNING_PLAN_H

#include "stagewright/Planning/Problem.h"
#include "stagewright/Scheduling/Gangs.h"

namespace stagewright {

/// What limits the speed or the size of a stage.
enum class Binding { Compute, Channel, AllReduce, Memory };

/// "compute", "channel", "all-reduce", "memory".
const char *toString(Binding binding);

/// Layers on devices. A planner decides the first group of fields; evaluate()
/// computes the second.
struct StagePlan {
  std::vector<int64_t> layers; ///< Increasing.
  std::vector<size_t> devices; ///< Replicas (times tensor-parallel ways).
  bool recompute = false;      ///< Runs its forward again before the backward.
  /// By layer of `layers`: its level of recomputation (Layer::levels); empty:
  /// 0.
  std::vector<int64_t> levels = {};
  /// The level of layers[number].
  int64_t levelOf(size_t number) const {
    return levels.empty() ? 0 : levels[number];
  }
  /// Layers, increasing, whose stash waits for the backward in the memory of
  /// the devices' hosts.
  std::vector<int64_t> offload = {};
  /// By layer: number of its alternative, if the planner chose among them; then
  /// devices = replicas * ways.
  std::vector<size_t> alternatives = {};
  int64_t ways = 1;
  /// The stage of a pipeline of gangs that this one, a level of one shard, is a
  /// part of (Gangs.h); none: stages are those of the pipeline.
  std::optional<int64_t> gangStage = {};
  /// Samples of each replica, if they are not chosen by its speed.
  std::vector<int64_t> rows = {};

  StageTimes times = {}; ///< One microbatch, the slowest replica's slice.
  Seconds allReduce;     ///< Of all its gradients.
  Seconds tail;          ///< The part of it after the last backward.
  Bytes memory;          ///< Of the replica that needs most; no workspace.
  Bytes host;            ///< Of its host, for offloaded layers.
  /// Time to copy what one microbatch offloads to the host, for the slowest
  /// replica; copying it back takes as long.
  Seconds copying;
  Binding binding = Binding::Compute;
};

struct Plan {
  std::string planner;
  /// What the algorithm minimises, such as "time" (of a step), "bottleneck"
  /// (seconds per microbatch) or "latency", and the value that it reports.
  std::string objective = "time";
  double value = 0;

  /// In an order in which every forward value is used by the stage that makes
  /// it or a later one. Stages may share devices.
  std::vector<StagePlan> stages;

  ExecutionOrder order = ExecutionOrder::OneFOneB;
  /// The generator (Generators.h) whose order the plan is timed in, with
  /// replicas that take whole microbatches in turn; empty: `order`.
  std::string schedule = {};
  /// Simulated makespan of the step in that order.
  Seconds time;
  /// Lower bound over all orders of this plan (Bounds.h).
  Seconds planBound;
  /// Lower bound over all plans of the searched family on this cluster
  /// (Bounds.h).
  Seconds familyBound;
  /// Upper bound on the time of the window order, if the theorem holds.
  std::optional<Seconds> upperBound;
  /// Runners-up and the times they would take; printed by --explain.
  std::vector<std::string> explanation;

  /// Name of the schedule, or of `order` if there is none.
  std::string orderName() const;
};

/// By stage: its StagePlan::gangStage.
GangStages gangStagesOf(const Plan &plan);

/// Checks that `plan` solves `problem`: every layer is on one stage, no device
/// is twice in a stage, the requests for stages and the limit on replicas are
/// met, no forward value goes to an earlier stage, and every device has enough
/// memory. The error names the stage and both values.
Status verify(const Problem &problem, const Plan &plan);

/// The same without the check of memory.
Status verifyStages(const Problem &problem, const Plan &plan);

} // namespace stagewright

#endif // STAGEWRIGHT_PLANNING_PLAN_H
