//===- Pending.cpp - work that fits in a rank's memory --------------------===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Each result is the smaller of two upper bounds. The first counts whole
// actions, as if every stage of the rank had the least memory and the longest
// time among them; exact for one stage. The second is the fractional knapsack:
// it allows fractions of actions and ignores `most`, but is otherwise exact,
// also if stages differ.
//
//===----------------------------------------------------------------------===//

#include "Pending.h"
#include <algorithm>
#include <limits>

namespace stagewright::bounds {

namespace {
/// An item of the knapsack, up to M times: `size` of memory, `gain` of time.
struct Piece {
  double size, gain;
};
} // namespace

/// The max gain in `memory` with up to `times` of each piece, also in
/// fractions.
static double fractional(std::vector<Piece> pieces, double memory,
                         int64_t times) {
  // A piece without size and gain would compare as equal to all.
  std::erase_if(pieces, [](const Piece &piece) { return piece.gain == 0; });
  std::sort(pieces.begin(), pieces.end(), [](const Piece &a, const Piece &b) {
    return a.gain * b.size > b.gain * a.size;
  });
  double gain = 0;
  for (const Piece &piece : pieces) {
    double wanted = piece.size * double(times);
    if (wanted <= memory) {
      gain += piece.gain * double(times);
      memory -= wanted;
    } else {
      gain += piece.gain * (memory / piece.size);
      memory = 0;
    }
  }
  return gain;
}

double forwardsThatFit(const Chain &chain, int64_t rank, int64_t most) {
  const ScheduleProblem &problem = chain.problem;
  double lightest = std::numeric_limits<double>::infinity(), longest = 0;
  std::vector<Piece> pieces;
  for (int64_t s : chain.stages[rank]) {
    lightest = std::min(lightest, problem.stages[s].activation);
    longest = std::max(longest, chain.forwardTime(s));
    pieces.push_back({problem.stages[s].activation, chain.forwardTime(s)});
  }
  double counted =
      double(timesThatFit(problem.memory, lightest, most)) * longest;
  return std::min(counted, fractional(std::move(pieces), problem.memory,
                                      problem.microbatches));
}

double backwardsThatFit(const Chain &chain, int64_t rank, int64_t most,
                        bool weights) {
  const ScheduleProblem &problem = chain.problem;
  constexpr double kNone = std::numeric_limits<double>::infinity();
  double activation = kNone, kept = kNone, input = 0, weight = 0;
  std::vector<Piece> pieces;
  int64_t all = 0;
  for (int64_t s : chain.stages[rank]) {
    const StageCosts &stage = problem.stages[s];
    double i = chain.inputTime(s), w = weights ? chain.weightTime(s) : 0;
    activation = std::min(activation, stage.activation);
    kept = std::min(kept, stage.kept);
    input = std::max(input, i);
    weight = std::max(weight, w);
    // A microbatch in memory waits either for W or for both I and W; the pieces
    // form the concave hull of these two choices.
    double more = stage.activation - stage.kept;
    if (w * more >= i * stage.kept) {
      pieces.push_back({stage.kept, w});
      pieces.push_back({more, i});
    } else {
      pieces.push_back({stage.activation, i + w});
    }
    all += problem.microbatches;
  }
  double counted = 0;
  int64_t activations = timesThatFit(problem.memory, activation, most);
  for (int64_t a = 0; a <= activations; ++a) {
    int64_t waiting =
        timesThatFit(problem.memory - double(a) * activation, kept, all - a);
    counted =
        std::max(counted, double(a) * input + double(a + waiting) * weight);
  }
  return std::min(counted, fractional(std::move(pieces), problem.memory,
                                      problem.microbatches));
}

} // namespace stagewright::bounds
