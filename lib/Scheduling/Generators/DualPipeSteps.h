//===- DualPipeSteps.h - the eight steps of DualPipe ------------*- C++ -*-===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Private to this folder. DualPipe and DualPipeV run the same eight steps. A
// rank has two stages: `near`, the one closer to the rank where microbatches
// enter, and `far`. In DualPipe they belong to two pipelines in opposite
// directions, in DualPipeV to one pipeline in the form of a V.
//
//===----------------------------------------------------------------------===//

#ifndef STAGEWRIGHT_SCHEDULING_GENERATORS_DUALPIPESTEPS_H
#define STAGEWRIGHT_SCHEDULING_GENERATORS_DUALPIPESTEPS_H

#include "stagewright/Scheduling/Generators.h"

namespace stagewright {

/// A rank's place among those that a microbatch passes before the turn of the V
/// (DualPipeV) or the middle of the pipeline (DualPipe).
struct DualPipeRank {
  int64_t near = 0, far = 0; ///< Stages.
  int64_t place = 0;        ///< 0: the rank where microbatches of `near` enter.
  int64_t places = 1;       ///< Ranks before the turn, or half of all ranks.
  int64_t microbatches = 1; ///< On each of the two stages.
};

class Builder;

/// Appends the rank's actions of all eight steps.
void runDualPipeSteps(Builder &order, const DualPipeRank &rank);

} // namespace stagewright

#endif // STAGEWRIGHT_SCHEDULING_GENERATORS_DUALPIPESTEPS_H
