//===- Chain.cpp - min times between a microbatch's actions ---------------===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Chain.h"
#include <algorithm>
#include <cmath>
#include <limits>

namespace stagewright::bounds {

int64_t timesThatFit(double memory, double each, int64_t most) {
  if (memory < 0)
    return 0;
  if (each * double(most) <= memory)
    return most;
  return std::min(most,
                  int64_t(std::floor(memory / each * (1 + 1e-12) + 1e-9)));
}

/// `problem`, with each action's share of a pair as its time: any schedule with
/// pairs is also a schedule of this problem, in which the two actions of a pair
/// run one after the other.
static ScheduleProblem sharesOfPairs(ScheduleProblem problem) {
  double factor = problem.overlap > 0 ? problem.overlap : 1;
  for (StageCosts &stage : problem.stages)
    for (Seconds *time :
         {&stage.forward, &stage.inputGradient, &stage.weightGradient})
      *time = *time * factor;
  return problem;
}

Chain::Chain(const ScheduleProblem &given) : problem(sharesOfPairs(given)) {
  for (int64_t rank = 0; rank < problem.ranks; ++rank)
    stages.push_back(stagesOf(problem.placement, problem.ranks, problem.chunks,
                              rank, problem.spare));
  size_t count = problem.stages.size();
  std::vector<double> forwards(count), inputs(count);
  for (const std::vector<int64_t> &own : stages) {
    double f = std::numeric_limits<double>::infinity(), i = f;
    for (int64_t s : own) {
      f = std::min(f, given.stages[s].forward.value);
      i = std::min(i, given.stages[s].inputGradient.value);
    }
    // The time until an action's result: its own time or, in a pair, the time
    // of the pair.
    for (int64_t s : own) {
      forwards[s] = given.stages[s].forward.value;
      inputs[s] = given.stages[s].inputGradient.value;
      if (given.overlap > 0) {
        forwards[s] = std::min(forwards[s], given.overlap * (forwards[s] + i));
        inputs[s] = std::min(inputs[s], given.overlap * (inputs[s] + f));
      }
    }
    alone.push_back(given.overlap > 0 && !given.forwardOnly
                        ? (1 - given.overlap) * (f + i)
                        : 0);
  }
  down.assign(count, 0);
  up.assign(count, 0);
  for (int64_t s = 0; s < last(); ++s) {
    double hop = problem.hopAfter(s).value;
    down[s + 1] = down[s] + forwards[s] + hop;
    up[s + 1] = up[s] + inputs[s + 1] + hop;
  }
  bottom = forwards[last()];
}

double Chain::turn(int64_t stage) const {
  return around(stage, stage) - forwardTime(stage);
}

double Chain::work(int64_t rank) const {
  double work = 0;
  for (int64_t s : stages[rank])
    work +=
        problem.forwardOnly ? forwardTime(s) : problem.stages[s].total().value;
  return work;
}

} // namespace stagewright::bounds
