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
#include <limits>
#include <memory>

namespace stagewright {

struct PipelineStage {
  StageTimes times; ///< Recomputation is part of inputGradient.
  /// From the end of the stage's last backward to the end of its all-reduce;
  /// later where another stage on its processor has one at that time.
  Seconds tail;
  /// What of its all-reduce runs during the stage's last backward; matters
  /// where collectives slow compute down.
  Seconds overlapped = {};
  /// Microbatch m runs on processors[m % size]; one unless whole microbatches
  /// go to replicas in turn. Stages may share a processor.
  std::vector<size_t> processors;

  /// Of what a microbatch keeps, to the memory of the host behind its forward,
  /// and as long back before its backward; beside what the processors compute.
  Seconds copying = {};
  /// Copies of microbatch m hold leavingLanes[m % size], comingLanes[m % size];
  /// empty where nothing is copied.
  std::vector<size_t> leavingLanes = {}, comingLanes = {};
  /// Of each processor: a forward waits until the one so many before has
  /// left, and a copy back until the backward two before has read its slot.
  size_t leavingSlots = 1;

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
  /// Compute takes this much longer while an all-reduce runs on its processor:
  /// the overlapped part of a stage's last backward, and blocks of other stages
  /// that start during a tail. Galvatron measures 1.126.
  double collectiveSlowdown = 1;

  /// What the simulator relies on: at least one stage and microbatch, times
  /// finite and not negative, numbers of stages, processors and links in range,
  /// channels from lower to higher stages.
  Status check() const;
};

/// How each resource chooses its next block. R_i: processors of stages i, i + 1
/// and so on together, S - i where every stage has one.
enum class ExecutionOrder {
  /// Block j of microbatch m belongs to window m / w + j, w the least number of
  /// processors of a stage; increasing windows, backward first (planners.md
  /// 1.5).
  Window,
  /// Whatever is ready, backward first, then the lowest microbatch.
  Greedy,
  /// Greedy with at most R_i microbatches in flight on stage i (DAPPLE P_A), an
  /// equal part of them on each of its r processors.
  CapA,
  /// Greedy with at most 2 R_i - r (DAPPLE P_B).
  CapB,
  /// All forwards, then all backwards.
  GPipe,
  /// R_i forwards, then strictly one backward, one forward, dealt to the
  /// processors: p pipelines side by side each run their own 1F1B.
  OneFOneB
};

/// Microbatches that enter a window together.
size_t windowWidth(const PipelineModel &model);

/// All of them, in the order above.
std::vector<ExecutionOrder> allExecutionOrders();

/// "window", "greedy", "cap-a", "cap-b", "gpipe", "1f1b".
const char *toString(ExecutionOrder order);
Result<ExecutionOrder> parseExecutionOrder(std::string_view name);

/// Makespan of the step: from the first start to the last end of a block, of a
/// tail or of a tie; infinite where it is certain to exceed `atMost`. `model`
/// must pass check(). Deterministic; O(blocks) for Window, O(blocks log S) for
/// the others. No order deadlocks, even where stages share processors.
///
/// Times are counted in whole powers of ten of a second, 10^14 or fewer to the
/// longest block: sums are then exact and times that are equal compare equal,
/// while the result differs from that of real numbers by less than 1e-9 of it.
///
/// Window: d(n) is the longest path of channels from a source to stage n, D the
/// largest. With one processor a stage, of microbatch m F_n belongs to window m
/// + 2 d(n), B_n to m + 4 D - 2 d(n), the transfer u -> v to m + 2 d(u) + 1 and
/// back to m + 4 D - 2 d(v) + 1. Every resource goes by (window, backward
/// first, number), but for B of the deepest stage, which follows its F: one
/// total order.
///
/// Otherwise, at each time: blocks that end do so first; then ready transfers
/// start, those without length first, the others by priority (backward first,
/// lowest microbatch, lowest number) if all their resources are free; then
/// compute, by the same priority or in the stated order. In-flight caps count
/// the forwards started minus the backwards ended of a processor. Where stages
/// share a processor, GPipe runs them one after the other and 1F1B, strict for
/// each stage, chooses by priority among them.
Seconds
makespanOf(const PipelineModel &model, ExecutionOrder order,
           Seconds atMost = Seconds(std::numeric_limits<double>::infinity()));

/// makespanOf() for many models: keeps its memory from one to the next.
class PipelineSimulator {
public:
  PipelineSimulator();
  ~PipelineSimulator();
  Seconds
  makespanOf(const PipelineModel &model, ExecutionOrder order,
             Seconds atMost = Seconds(std::numeric_limits<double>::infinity()));

private:
  std::unique_ptr<class PipelineEngine> engine;
};

} // namespace stagewright

#endif // STAGEWRIGHT_SIMULATION_PIPELINE_H
