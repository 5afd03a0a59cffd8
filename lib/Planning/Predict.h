//===- Predict.h - simulated time of a plan ---------------------*- C++ -*-===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Private to this room.
//
//===----------------------------------------------------------------------===//

#ifndef STAGEWRIGHT_PLANNING_PREDICT_H
#define STAGEWRIGHT_PLANNING_PREDICT_H

#include "stagewright/Planning/Plan.h"

namespace stagewright {

/// Makespan of `plan` under the problem's schedule. What goes from one stage to
/// another after one phase arrives together: latency plus all its bytes, over
/// the direct link, or link by link along the chain where there is none.
Result<Seconds> predictTime(const Problem &problem, const Plan &plan);

} // namespace stagewright

#endif // STAGEWRIGHT_PLANNING_PREDICT_H
