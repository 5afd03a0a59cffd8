//===- BlockPartition.cpp - torchgpipe's balance --------------------------===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "stagewright/Planning/Baselines/BlockPartition.h"
#include "Chains/StraightStages.h"
#include "stagewright/Planning/Baselines/Baselines.h"
#include "stagewright/Planning/Evaluate.h"
#include <algorithm>
#include <numeric>

namespace stagewright {

namespace {
class Blocks {
public:
  Blocks(std::vector<double> scaled, size_t count)
      : weights(std::move(scaled)) {
    for (size_t i = 1; i < count; ++i)
      ends.push_back(weights.size() / count * i);
    ends.push_back(weights.size());
  }

  /// Moves one element; false if the sums of blocks differ by at most 1.
  bool improve();
  std::vector<size_t> ends;

private:
  double sum(size_t block) const {
    return std::accumulate(weights.begin() + (block ? ends[block - 1] : 0),
                           weights.begin() + ends[block], 0.0);
  }
  std::vector<double> weights;
};
} // namespace

bool Blocks::improve() {
  std::vector<double> sums;
  for (size_t i = 0; i < ends.size(); ++i)
    sums.push_back(sum(i));
  auto [smallest, largest] = std::minmax_element(sums.begin(), sums.end());
  if (*largest <= *smallest + 1)
    return false;
  size_t from = largest - sums.begin(), to = smallest - sums.begin();
  auto distance = [&](size_t i) { return i < from ? from - i : i - from; };
  for (size_t i = 0; i < sums.size(); ++i)
    if (sums[i] == *smallest && distance(i) < distance(to))
      to = i;
  if (from < to)
    --ends[to - 1];
  else
    ++ends[to];
  return true;
}

std::vector<size_t> blockPartition(const std::vector<double> &weights,
                                   size_t blocks) {
  auto [least, most] = std::minmax_element(weights.begin(), weights.end());
  std::vector<double> scaled;
  for (double weight : weights)
    scaled.push_back(*most > *least ? (weight - *least) / (*most - *least) : 0);
  Blocks result(std::move(scaled), blocks);
  // Limit the moves: with rounding errors they could repeat in a cycle.
  size_t moves = blocks * weights.size() * weights.size();
  while (moves-- > 0 && result.improve())
    continue;
  // A block of elements of scaled weight 0 may have lost all of them.
  for (size_t i = 0; i < blocks; ++i) {
    size_t before = i ? result.ends[i - 1] : 0;
    result.ends[i] = std::clamp(result.ends[i], before + 1,
                                weights.size() - (blocks - 1 - i));
  }
  return result.ends;
}

Result<Plan> planBlockPartition(const Problem &problem) {
  return planStraightStages(
      problem, "block-partition", "spread",
      [](const std::vector<std::vector<double>> &seconds, Plan &plan) {
        std::vector<size_t> ends =
            blockPartition(seconds.front(), seconds.size());
        double least = 0, most = 0;
        for (size_t i = 0; i < ends.size(); ++i) {
          double sum =
              std::accumulate(seconds.front().begin() + (i ? ends[i - 1] : 0),
                              seconds.front().begin() + ends[i], 0.0);
          least = i ? std::min(least, sum) : sum;
          most = std::max(most, sum);
        }
        plan.value = most - least;
        return ends;
      });
}

} // namespace stagewright
