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

} // namespace stagewright

#endif // STAGEWRIGHT_SIMULATION_PIPELINETIMELINE_H
