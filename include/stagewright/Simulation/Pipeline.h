//===- Pipeline.h - a pipeline as resources and blocks ------*- C++ -*-===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What a plan becomes for the simulator: stages that compute, channels between
// them that carry a microbatch's values forwards and its gradients backwards,
// and the resources that both hold while they do. Compute and transfers never
// hold the same resource.
//
// A stage's backward is one block (I and W together, with the forward run again
// where the stage recomputes) unless a schedule orders I and W apart.
//
//===----------------------------------------------------------------------===//

#ifndef STAGEWRIGHT_SIMULATION_PIPELINE_H
#define STAGEWRIGHT_SIMULATION_PIPELINE_H

#include "stagewright/Scheduling/Schedule.h"
#include "stagewright/Simulation/Simulate.h"

namespace stagewright {

struct PipelineStage {
  StageTimes times; ///< Recomputation is part of inputGradient.
  /// From the end of the stage's last backward to the end of its all-reduce.
  Seconds tail;
  /// Microbatch m runs on processors[m % size]; one unless whole microbatches
  /// go to replicas in turn. Stages may share a processor.
  std::vector<size_t> processors;

  Seconds backward() const {
    return times.inputGradient + times.weightGradient;
  }
};

/// All that one stage sends to another, and gets back.
struct PipelineChannel {
  size_t from = 0, to = 0; ///< Stages; from < to.
  Seconds forward, backward;
  /// Transfers of microbatch m hold forwardLanes[m % size], or backwardLanes;
  /// the same numbers where the channel is half duplex.
  std::vector<size_t> forwardLanes, backwardLanes;
  /// Resources shared with other channels, such as NICs, that every transfer
  /// of this direction holds as well.
  std::vector<size_t> forwardShared, backwardShared;
  bool hasForward = true, hasBackward = true;
};

/// After its last backward stage `from` sends stage `to` something that the
/// step waits for: the gradient of a tied parameter.
struct PipelineTie {
  size_t from = 0, to = 0;
  Seconds seconds;
};

struct PipelineModel {
  std::vector<PipelineStage> stages; ///< In topological order.
  std::vector<PipelineChannel> channels;
  std::vector<PipelineTie> ties;
  size_t numProcessors = 0, numLinks = 0; ///< Lanes and shared links.
  int64_t microbatches = 1;
  bool forwardOnly = false;
  /// Compute blocks take this much longer while a collective of their stage
  /// runs; Galvatron measures 1.126.
  double collectiveSlowdown = 1;
};

/// How each resource chooses its next block.
enum class ExecutionOrder {
  /// Block j of microbatch m belongs to window m + j; increasing windows,
  /// backward first (planners.md 1.5).
  Window,
  /// Whatever is ready, backward first, then the lowest microbatch.
  Greedy,
  /// Greedy with at most S - i microbatches in flight on stage i (DAPPLE P_A).
  CapA,
  /// Greedy with at most 2 (S - i) - 1 (DAPPLE P_B).
  CapB,
  /// All forwards, then all backwards.
  GPipe,
  /// S - i forwards, then strictly one backward, one forward.
  OneFOneB
};

/// All of them, in the order above.
std::vector<ExecutionOrder> allExecutionOrders();

/// "window", "greedy", "cap-a", "cap-b", "gpipe", "1f1b".
const char *toString(ExecutionOrder order);
Result<ExecutionOrder> parseExecutionOrder(std::string_view name);

/// Makespan of the step: from the first start to the last end of a block, of a
/// tail or of a tie. Exact for the stated order; deterministic; O(blocks) for
/// Window, GPipe and 1F1B, O(blocks log blocks) for the others. Infinite if the
/// order deadlocks, which only a shared processor can make it do.
Seconds makespanOf(const PipelineModel &model, ExecutionOrder order);

} // namespace stagewright

#endif // STAGEWRIGHT_SIMULATION_PIPELINE_H
