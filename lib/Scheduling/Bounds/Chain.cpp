//===- Chain.cpp - how long one microbatch is under way -------------------===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Chain.h"
#include <cmath>

namespace stagewright::bounds {

int64_t timesThatFit(double memory, double each, int64_t most) {
  if (memory < 0)
    return 0;
  if (each * double(most) <= memory)
    return most;
  return std::min(most,
                  int64_t(std::floor(memory / each * (1 + 1e-12) + 1e-9)));
}

Chain::Chain(const ScheduleProblem &problem) : problem(problem) {
  down.assign(problem.stages.size(), 0);
  up.assign(problem.stages.size(), 0);
  for (int64_t s = 0; s < last(); ++s) {
    double hop = problem.hopAfter(s).value;
    down[s + 1] = down[s] + forwardTime(s) + hop;
    up[s + 1] = up[s] + hop + inputTime(s);
  }
  for (int64_t rank = 0; rank < problem.ranks; ++rank)
    stages.push_back(
        stagesOf(problem.placement, problem.ranks, problem.chunks, rank));
}

double Chain::turn(int64_t stage) const {
  // Down from behind F of this stage to the end of F of the last one, back from
  // there to the start of I of this one.
  double ahead =
      forward(stage, last()) - forwardTime(stage) + forwardTime(last());
  return stage == last() ? 0
                         : ahead + inputTime(last()) + backward(last(), stage) -
                               inputTime(stage);
}

double Chain::work(int64_t rank) const {
  double work = 0;
  for (int64_t s : stages[rank])
    work +=
        problem.forwardOnly ? forwardTime(s) : problem.stages[s].total().value;
  return work;
}

} // namespace stagewright::bounds
