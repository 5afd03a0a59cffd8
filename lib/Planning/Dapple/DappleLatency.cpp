//===- DappleLatency.cpp - latency of a synchronous pipeline --------------===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "stagewright/Planning/Dapple.h"
#include <algorithm>
#include <limits>

namespace stagewright {

/// The pivot: the stage that determines the steady phase.
static size_t pivotOf(const std::vector<DappleStage> &stages, double rounds) {
  size_t pivot = stages.size() - 1;
  double between = 0; // Load of the stages after s and before the pivot.
  for (size_t s = pivot; s-- > 0;) {
    if (rounds * stages[s].load() > rounds * stages[pivot].load() + between) {
      pivot = s;
      between = 0;
      continue;
    }
    between += stages[s].load();
  }
  return pivot;
}

DappleLatency dappleLatency(const std::vector<DappleStage> &stages,
                            int64_t microbatches) {
  double rounds = double(microbatches - 1);
  size_t pivot = pivotOf(stages, rounds);
  double warmUp = 0, steady = rounds * stages[pivot].load();
  for (size_t s = 0; s <= pivot; ++s)
    warmUp += stages[s].forward;
  double ending = -std::numeric_limits<double>::infinity();
  double backward = 0; // From the pivot to s, both included.
  for (size_t s = pivot + 1; s-- > 0;) {
    backward += stages[s].backward;
    ending = std::max(ending, stages[s].allReduce + backward);
  }
  backward = stages[pivot].backward;
  for (size_t s = pivot + 1; s < stages.size(); ++s) {
    backward += stages[s].backward;
    ending = std::max(ending, stages[s].allReduce - backward);
  }
  return {warmUp + steady + ending, pivot};
}

} // namespace stagewright
