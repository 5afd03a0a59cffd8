//===- PipelineTimeline.h - who does what when --------------*- C++ -*-===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The simulated step in full: the blocks of every processor and link, and what
// follows from them. makespanOf() gives the same makespan, only faster.
//
// Two metrics that are never mixed (schedules.md 1.0):
//  * makespan: from the first start to the last end anywhere, collectives
//    included; right where a step ends with something global.
//  * span: the largest time from a processor's first start to its last end;
//  what
//    a step takes in the long run if processors may enter the next step early.
//
//===----------------------------------------------------------------------===//

#ifndef STAGEWRIGHT_SIMULATION_PIPELINETIMELINE_H
#define STAGEWRIGHT_SIMULATION_PIPELINETIMELINE_H

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
  Offload, ///< Of a stage, to the memory of its host; Fetch is back.
  Fetch,
  AllReduce, ///< The tail of a stage.
  Tie        ///< Of a tie.
};

/// Something that takes time.
struct PipelineBlock {
  BlockKind kind = BlockKind::Forward;
  size_t number = 0; ///< Of the stage, the channel or the tie.
  int64_t microbatch = 0;
  Seconds start, end;
};

/// Why a block did not start earlier.
enum class WaitReason {
  Nothing,  ///< It starts when the step does.
  Input,    ///< For what another block made.
  Resource, ///< For its processor or a link, or its turn there.
  Cap       ///< For the stage to have fewer microbatches in flight.
};

/// "nothing", "input", "resource", "cap".
const char *toString(WaitReason reason);

/// A block and why it did not start before the one before it had ended.
struct CriticalBlock {
  PipelineBlock block;
  WaitReason waited = WaitReason::Nothing;
};

struct PipelineTimeline {
  /// In the order in which they run; a transfer is in the list of its channel
  /// and of each of its links, a copy to or from a host in that of its link.
  std::vector<std::vector<PipelineBlock>> processors, channels, links;
  /// Tails of stages and ties that take time.
  std::vector<PipelineBlock> collectives;
  Seconds makespan, span;
  /// By processor: what it computes, and what it is idle of the makespan.
  std::vector<Seconds> compute, bubbles;
  /// By stage: the most microbatches whose forward has started and whose last
  /// backward block has not ended; 0 where there is no backward.
  std::vector<int64_t> peakInFlight;
  /// From the start of the step to its end without a gap.
  std::vector<CriticalBlock> criticalPath;

  /// Idle processor time over all processor time of the makespan.
  double bubbleShare() const;
};

/// The step of `model` in `order`; its makespan is makespanOf(). Fails where
/// check() fails. O(blocks log blocks).
Result<PipelineTimeline> simulatePipeline(const PipelineModel &model,
                                          ExecutionOrder order);

/// The step of `model` with the orders that `schedule` states: I and W in one
/// or apart, forwards run again, microbatches on any rank. The ranks take the
/// place of the processors; transfers go by readiness, backward first. R takes
/// a forward, so that `inputGradient` must not hold it where R is ordered
/// apart. Fails where check() or verify() fail; a deadlock names the ranks and
/// what each waits for.
Result<PipelineTimeline> simulatePipeline(const PipelineModel &model,
                                          const Schedule &schedule);

/// What the stages of `model` send to one another, for verify().
StageGraph graphOf(const PipelineModel &model);

/// `F3` of stage 2 as "2F3", a transfer from stage 0 to 1 as "0>1F3" and
/// "1>0B3", a copy to the host "0>hostF3" and back "host>0B3", "2 all-reduce",
/// "tie 0".
std::string toString(const PipelineBlock &block, const PipelineModel &model);

} // namespace stagewright

#endif // STAGEWRIGHT_SIMULATION_PIPELINETIMELINE_H
