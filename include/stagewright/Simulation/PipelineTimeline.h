//===- PipelineTimeline.h - all blocks of a simulated step ------*- C++ -*-===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The simulated step in full: the blocks of every processor and link, and
// figures derived from them. makespanOf() computes the same makespan, only
// faster.
//
// Two metrics must not be confused (docs/schedules.md,
// "Makespan and span"):
//  * makespan: from the first start to the last end anywhere, collectives
//    included; right if a step ends with a global operation.
//  * span: the max over processors of the time from first start to last end;
//    the time per step over many steps, if processors may start the next early.
//
//===----------------------------------------------------------------------===//

#ifndef STAGEWRIGHT_SIMULATION_PIPELINETIMELINE_H
#define STAGEWRIGHT_SIMULATION_PIPELINETIMELINE_H

#include "stagewright/Scheduling/Replicas.h"
#include "stagewright/Simulation/Pipeline.h"

namespace stagewright {

enum class BlockKind {
  Forward,
  Backward, ///< InputGradient and WeightGradient in one.
  InputGradient,
  WeightGradient,
  Recompute,
  SendForward, ///< Of a channel, not of a stage; so is SendBackward.
  SendBackward,
  Offload, ///< Of a stage, to the host's memory; Fetch copies back.
  Fetch,
  AllReduce, ///< The tail of a stage.
  Tie        ///< The transfer of a PipelineTie.
};

/// An interval in which a resource is busy.
struct PipelineBlock {
  BlockKind kind = BlockKind::Forward;
  size_t number = 0; ///< Of the stage, the channel or the tie.
  int64_t microbatch = 0;
  Seconds start, end;
};

/// Why a block did not start earlier.
enum class WaitReason {
  Nothing,  ///< It starts when the step starts.
  Input,    ///< For a result of another block.
  Resource, ///< For its processor or a link, or its turn there.
  Cap       ///< For fewer microbatches in flight on its stage.
};

/// "nothing", "input", "resource", "cap".
const char *toString(WaitReason reason);

/// A block of the critical path, and why it did not start before the end of the
/// block before it.
struct CriticalBlock {
  PipelineBlock block;
  WaitReason waited = WaitReason::Nothing;
};

struct PipelineTimeline {
  /// In the order in which they run. A transfer is in the list of its channel
  /// and in those of all its links, a copy to or from a host in that of its
  /// link.
  std::vector<std::vector<PipelineBlock>> processors, channels, links;
  /// Tails of stages and ties that take time.
  std::vector<PipelineBlock> collectives;
  Seconds makespan, span;
  /// By processor: its busy time, and its idle time within the makespan.
  std::vector<Seconds> compute, bubbles;
  /// By stage: the max number of microbatches whose forward has started and
  /// whose last backward block has not ended; 0 if there is no backward.
  std::vector<int64_t> peakInFlight;
  /// From the start of the step to its end without gaps.
  std::vector<CriticalBlock> criticalPath;

  /// Idle time of all processors, as a share of their number times the
  /// makespan.
  double bubbleShare() const;
};

/// The step of `model` in `order`; its makespan is makespanOf(). Fails if
/// check() fails or `order` is not defined for `model`. O(blocks log blocks).
Result<PipelineTimeline> simulatePipeline(const PipelineModel &model,
                                          ExecutionOrder order);

/// The step of `model` in the orders of `schedule`, where I and W may be one
/// action or two, forwards may be recomputed, and microbatches may be on any
/// rank. The ranks replace the processors; transfers run when they are ready,
/// backward ones first. R takes the time of a forward, so `inputGradient` must
/// not include that if R is an action. Fails if check() or verify() fails; a
/// deadlock names the ranks and what each waits for.
Result<PipelineTimeline> simulatePipeline(const PipelineModel &model,
                                          const Schedule &schedule);

/// The makespan of a step, and the longest busy time of a processor.
struct StepTime {
  Seconds makespan, busiest;
};

/// Those of simulatePipeline() in the orders of `schedule`, with stages on
/// `ranks`. Pipelines side by side that share no links are simulated once for
/// each number of microbatches.
Result<StepTime> stepTimeOf(const PipelineModel &model,
                            const Schedule &schedule,
                            const ReplicaRanks &ranks);

/// The values that the stages of `model` send to each other, for verify().
StageGraph graphOf(const PipelineModel &model);

/// `F3` of stage 2 as "2F3", a transfer from stage 0 to 1 as "0>1F3" and
/// "1>0B3", a copy to the host "0>hostF3" and back "host>0B3", "2 all-reduce",
/// "tie 0".
std::string toString(const PipelineBlock &block, const PipelineModel &model);

} // namespace stagewright

#endif // STAGEWRIGHT_SIMULATION_PIPELINETIMELINE_H
