//===- StageFit.cpp - whether a set of nodes fits in memory ---------------===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Chains/StageFit.h"
#include "stagewright/Planning/Evaluate.h"
#include <algorithm>

namespace stagewright {

/// More bytes than any stage can hold, as a double since it may be a lot.
static double mostBytes(const Problem &problem) {
  double once = 0, perMicrobatch = 0;
  for (const Resident &resident : problem.residents)
    (resident.kind == ResidentKind::PerMicrobatch ? perMicrobatch : once) +=
        double(resident.bytes.value) * (1 + problem.model.optimizerState);
  for (const Value &value : problem.values)
    perMicrobatch += 2 * double(value.bytes.value);
  return once + double(problem.microbatches) * perMicrobatch;
}

StageFit::StageFit(const Problem &problem, const LoadGraph &graph)
    : problem(problem), graph(graph), isHere(problem.layers.size()),
      canBind(false) {
  double bytes = mostBytes(problem);
  for (const Device &device : problem.cluster.devices)
    canBind |= bytes > double(device.memory.value);
}

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
