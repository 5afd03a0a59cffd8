//===- Plan.h - what a planner answers ----------------------*- C++ -*-===//
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

/// What a stage's pace or size is limited by.
enum class Binding { Compute, Channel, AllReduce, Memory };

/// "compute", "channel", "all-reduce", "memory".
const char *toString(Binding binding);

/// Layers on devices. The first part is what a planner decides, the second
/// what evaluate() finds for it.
struct StagePlan {
  std::vector<int64_t> layers; ///< Increasing.
  std::vector<size_t> devices; ///< Replicas (times tensor-parallel ways).
  bool recompute = false;      ///< Runs its forward again before the backward.
  /// How much each layer computes again instead of keeping it (Layer::levels);
  /// empty: nothing.
  std::vector<int64_t> levels = {};
  /// That of layers[number].
  int64_t levelOf(size_t number) const {
    return levels.empty() ? 0 : levels[number];
  }
  /// Layers, increasing, of which what their forwards keep here waits for the
  /// backward in the memory of the devices' hosts.
  std::vector<int64_t> offload = {};
  /// Number of the alternative of each layer, where the planner chose among
  /// them; devices = replicas * ways then.
  std::vector<size_t> alternatives = {};
  int64_t ways = 1;
  /// Samples of each replica, where they are not chosen by its speed.
  std::vector<int64_t> rows = {};

  StageTimes times = {}; ///< One microbatch, the slowest replica's slice.
  Seconds allReduce;     ///< Of all its gradients.
  Seconds tail;          ///< What of it is left after the last backward.
  Bytes memory;          ///< Of the fullest replica; no workspace.
  Bytes host;            ///< Of its host, for what is offloaded.
  /// Copies of one microbatch to the host, and as long back; the slowest
  /// replica's.
  Seconds copying;
  Binding binding = Binding::Compute;
};

struct Plan {
  std::string planner;
  /// What the algorithm minimises: "time" (of a step), "bottleneck" (seconds
  /// per microbatch), "max-load", "time-per-sample"; and the value it reports.
  std::string objective = "time";
  double value = 0;

  /// In an order in which every value of the forward goes to the same or a
  /// later stage. Stages may share devices.
  std::vector<StagePlan> stages;

  ExecutionOrder order = ExecutionOrder::OneFOneB;
  /// The generator (Generators.h) in whose order the plan is timed, with
  /// replicas that take whole microbatches in turn; empty: `order`.
  std::string schedule = {};
  /// Simulated makespan of the step in that order.
  Seconds time;
  /// No order of this plan is faster (Bounds.h).
  Seconds planBound;
  /// No plan of the searched family on this cluster is faster (Bounds.h).
  Seconds familyBound;
  /// What the window order takes at most, where the theorem holds.
  std::optional<Seconds> upperBound;
  /// Why it won: the runner-up and what it would take; for --explain.
  std::vector<std::string> explanation;

  /// Of the schedule, or of `order`.
  std::string orderName() const;
};

/// Proves that `plan` answers `problem`: every layer on one stage, no device
/// twice within a stage, as many stages and replicas as asked for, values of
/// the forward never to an earlier stage, every device's memory large enough.
/// The error names the stage and both values.
Status verify(const Problem &problem, const Plan &plan);

/// The same but for memory.
Status verifyStages(const Problem &problem, const Plan &plan);

} // namespace stagewright

#endif // STAGEWRIGHT_PLANNING_PLAN_H
