//===- DualPipeSteps.h - the eight steps of DualPipe ------------*- C++ -*-===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Private to this room. DualPipe and DualPipeV run the same eight steps: a rank
// has a stage `near` the end that its microbatches come in at and a stage `far`
// from it. Under DualPipe these are stages of two pipelines in opposite
// directions, under DualPipeV of one that turns.
//
//===----------------------------------------------------------------------===//

#ifndef STAGEWRIGHT_SCHEDULING_GENERATORS_DUALPIPESTEPS_H
#define STAGEWRIGHT_SCHEDULING_GENERATORS_DUALPIPESTEPS_H

#include "stagewright/Scheduling/Generators.h"

namespace stagewright {

/// A rank's place among those that a microbatch passes before the turn.
struct DualPipeRank {
  int64_t near = 0, far = 0; ///< Stages.
  int64_t place = 0;         ///< From the end that `near` comes in at.
  int64_t places = 1;        ///< Ranks until the turn, or half of all ranks.
  int64_t microbatches = 1;  ///< Of each of the two stages.
};

class Builder;

/// Appends the actions of a step.
void runDualPipeSteps(Builder &order, const DualPipeRank &rank);

} // namespace stagewright

#endif // STAGEWRIGHT_SCHEDULING_GENERATORS_DUALPIPESTEPS_H
