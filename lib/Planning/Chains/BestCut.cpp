//===- BestCut.cpp - best cut of a chain by dynamic programming -----------===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Chains/BestCut.h"
#include "stagewright/Support/Infinity.h"
#include <algorithm>

namespace stagewright {

std::vector<int64_t> bestCut(int64_t layers, int64_t stages,
                             const StageCost &cost,
                             const std::function<double(double, double)> &join,
                             double &best) {
  std::vector<std::vector<double>> least(
      stages + 1, std::vector<double>(layers + 1, kInfinity));
  std::vector<std::vector<int64_t>> cut(stages + 1,
                                        std::vector<int64_t>(layers + 1, -1));
  least[0][0] = -kInfinity;
  for (int64_t s = 0; s < stages; ++s)
    for (int64_t end = s + 1; end <= layers - (stages - 1 - s); ++end)
      for (int64_t first = s; first < end; ++first) {
        if (least[s][first] == kInfinity)
          continue;
        double next = cost(s, first, end);
        double value = s == 0 ? next : join(least[s][first], next);
        if (value < least[s + 1][end]) {
          least[s + 1][end] = value;
          cut[s + 1][end] = first;
        }
      }
  best = least[stages][layers];
  std::vector<int64_t> ends;
  if (best == kInfinity)
    return ends;
  for (int64_t s = stages, end = layers; s > 0; end = cut[s--][end])
    ends.push_back(end);
  std::reverse(ends.begin(), ends.end());
  return ends;
}

} // namespace stagewright
