//===- PiperStep.h - a step of a plan with alternatives ---------*- C++ -*-===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// evaluate() for plans with alternatives. A replica, the t devices of a
// tensor-parallel group, is simulated as one processor, which takes the time of
// the alternative and sends from its first device. A sample of Piper is a
// microbatch. As in other plans, replicas take slices of each microbatch if it
// can be sliced; Piper gives them whole microbatches in turn, which has the
// same throughput. An alternative's time is divided into forward and backward
// in the layer's ratio, counting the forward twice if it recomputes. An edge
// that leaves a stage carries its bytes and those that the alternatives of both
// ends add.
//
// Piper's memory model assumes that each of d replicas holds ceil(s/d) samples,
// with s replicas in this and all later stages. Only execution orders whose
// samples in flight fit with the alternatives' bytes are simulated; 1F1B always
// fits.
//
//===----------------------------------------------------------------------===//

#ifndef STAGEWRIGHT_PLANNING_PIPERSTEP_H
#define STAGEWRIGHT_PLANNING_PIPERSTEP_H

#include "stagewright/Cost/Network.h"
#include "stagewright/Planning/Plan.h"

namespace stagewright {

/// As evaluate(), for plans whose stages may have alternatives.
Status simulateSamples(const Problem &problem, const Network &network,
                       Plan &plan);

} // namespace stagewright

#endif // STAGEWRIGHT_PLANNING_PIPERSTEP_H
