//===- PiperStep.h - a step of a plan with alternatives ---------*- C++ -*-===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Private to this room. What evaluate() is for other plans. A replica, the t
// devices of a tensor-parallel group, is one processor, which the time of the
// alternative stands for, and talks through its first device. As in every other
// plan the replicas take slices of each sample, where its rows can be sliced;
// Piper gives them whole samples in turn, which keeps the same pace. An
// alternative's time is divided into forward and backward like that of the
// layer, one that recomputes with the forward twice; an edge that leaves a
// stage carries its bytes and what both ends' alternatives add.
//
// Piper's memory allows ceil(s/d) samples on a replica. Of the execution orders
// those are simulated whose samples in flight fit with the alternatives' bytes;
// 1F1B always does.
//
//===----------------------------------------------------------------------===//

#ifndef STAGEWRIGHT_PLANNING_PIPERSTEP_H
#define STAGEWRIGHT_PLANNING_PIPERSTEP_H

#include "stagewright/Cost/Network.h"
#include "stagewright/Planning/Plan.h"

namespace stagewright {

/// evaluate(), for plans whose stages may have alternatives.
Status simulateSamples(const Problem &problem, const Network &network,
                       Plan &plan);

} // namespace stagewright

#endif // STAGEWRIGHT_PLANNING_PIPERSTEP_H
