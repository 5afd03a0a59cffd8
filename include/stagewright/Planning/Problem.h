//===- Problem.h - what a planner is asked ----------------------*- C++ -*-===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A chain of layers, a cluster, a schedule and a number of microbatches. It is
// plain data without IR, so that the same instances run under every algorithm,
// in unit tests and against published tables. Problem and algorithm apart,
// check() on the way in and verify() on the way out, as in CIRCT's scheduling.
//
// A cut of the chain makes stages: layers [0, a), [a, b), … Stage s lies on
// device s. What a stage costs follows from values: a value is made by one
// phase of one layer and used by phases of layers, each microbatch anew.
//
//===----------------------------------------------------------------------===//

#ifndef STAGEWRIGHT_PLANNING_PROBLEM_H
#define STAGEWRIGHT_PLANNING_PROBLEM_H

#include "stagewright/Cost/Cluster.h"
#include "stagewright/Scheduling/StageGraph.h"
#include "stagewright/Simulation/Simulate.h"

namespace stagewright {

/// A layer of the chain: seconds of one microbatch for each device class, in
/// the order of Cluster::classes().
struct Layer {
  std::string name;
  std::vector<StageTimes> times;
};

/// A phase of a layer.
struct LayerPhase {
  int64_t layer = 0;
  ActionKind phase = ActionKind::Forward; ///< Forward, InputGradient or
                                          ///< WeightGradient.
};

/// A value that one phase of a layer makes for others, once per microbatch.
struct Value {
  Bytes bytes;
  LayerPhase producer;
  std::vector<LayerPhase> uses;
};

/// Memory that every stage needs which holds one of `layers`.
struct Resident {
  Bytes bytes;
  /// Held once for each microbatch: inputs and joined outputs of the step.
  /// Otherwise once: parameters, gradients, constants.
  bool perMicrobatch = false;
  std::vector<int64_t> layers;
};

struct Problem {
  Cluster cluster;
  std::vector<Layer> layers;
  std::vector<Value> values;
  std::vector<Resident> residents;
  int64_t stages = 1;
  int64_t microbatches = 1;
  std::string schedule = "1f1b"; ///< Name of a generator.
  bool forwardOnly = false;

  /// Everything an algorithm relies on: at least one layer, stages and
  /// microbatches positive, as many layers and devices as stages, costs finite
  /// and not negative, numbers of layers in range, neighbours linked.
  Status check() const;

  /// Number of the class of device `device`.
  size_t classOf(size_t device) const;
};

} // namespace stagewright

#endif // STAGEWRIGHT_PLANNING_PROBLEM_H
