//===- Seeds.cpp - schedules of all suitable generators -------------------===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Search/Seeds.h"
#include "stagewright/Scheduling/Generators.h"
#include <algorithm>

namespace stagewright::search {

static bool fits(const Generator &generator, const ScheduleProblem &problem,
                 bool split) {
  bool samePlacement =
      generator.placement == problem.placement ||
      (problem.chunks == 1 && generator.placement != Placement::Twin &&
       problem.placement != Placement::Twin);
  bool enough =
      problem.chunks >= generator.leastChunks &&
      (generator.mostChunks == 0 || problem.chunks <= generator.mostChunks);
  return samePlacement && enough && (split || !generator.splitsBackward) &&
         (problem.spare == 0 || generator.anyStages);
}

/// The longest hop divided by the shortest forward.
static double hopRatioOf(const ScheduleProblem &problem) {
  double hop = 0, forward = 0;
  for (int64_t s = 0; s + 1 < problem.numStages(); ++s)
    hop = std::max(hop, problem.hopAfter(s).value);
  for (const StageCosts &stage : problem.stages)
    if (forward == 0 || stage.forward.value < forward)
      forward = stage.forward.value;
  return forward > 0 ? hop / forward : 0;
}

std::vector<Schedule> seedsFor(const ScheduleProblem &problem, bool split) {
  std::vector<Schedule> seeds;
  double ratio = hopRatioOf(problem);
  for (const Generator &generator : allGenerators()) {
    if (!fits(generator, problem, split))
      continue;
    std::vector<double> ratios = {ratio};
    if (ratio > 0)
      ratios.push_back(0);
    for (double hopRatio : ratios) {
      Result<Schedule> seed = generator.generate({problem.ranks,
                                                  problem.microbatches,
                                                  problem.forwardOnly,
                                                  problem.chunks,
                                                  /*group=*/0,
                                                  hopRatio,
                                                  {},
                                                  problem.spare});
      if (!seed)
        break;
      seed->kind = generator.name;
      auto same = [&](const Schedule &s) { return s.ranks == seed->ranks; };
      if (std::none_of(seeds.begin(), seeds.end(), same))
        seeds.push_back(std::move(*seed));
    }
  }
  return seeds;
}

bool withinMemory(const std::vector<double> &peaks,
                  const ScheduleProblem &problem) {
  for (double peak : peaks)
    if (peak > problem.memory * (1 + 1e-9))
      return false;
  return true;
}

} // namespace stagewright::search
