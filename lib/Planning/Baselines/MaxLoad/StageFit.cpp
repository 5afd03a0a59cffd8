//===- StageFit.cpp - whether a set of nodes fits in memory ---------------===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "MaxLoad/StageFit.h"
#include "stagewright/Planning/Evaluate.h"
#include <algorithm>

namespace stagewright {

StageFit::StageFit(const Problem &problem, const LoadGraph &graph)
    : problem(problem), graph(graph), isHere(problem.layers.size()),
      canBind(memoryMayBind(problem)) {}

Bytes StageFit::bytes(int64_t fromEnd) const {
  int64_t inFlight = problem.microbatches;
  for (ExecutionOrder order : problem.orders)
    inFlight =
        std::min(inFlight, inFlightOf(order, fromEnd, problem.microbatches));
  if (problem.forwardOnly)
    inFlight = 0;
  return stageMemory(problem, isHere, /*recompute=*/false)
      .with(inFlight, problem.microbatches, 1.0);
}

} // namespace stagewright
