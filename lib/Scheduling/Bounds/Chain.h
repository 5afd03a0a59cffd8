//===- Chain.h - min times between a microbatch's actions -------*- C++ -*-===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Min times between two actions of a microbatch that never waits: sums over the
// stages in between, so no schedule is faster.
//
// If pairs overlap, an action's time is its share of the pair, and the two
// actions run one after the other: any schedule with pairs is also a schedule
// of such single actions, so bounds for single actions hold for it. Only the
// times between a microbatch's actions are longer, since a pair passes on its
// results at its end.
//
//===----------------------------------------------------------------------===//

#ifndef STAGEWRIGHT_LIB_SCHEDULING_BOUNDS_CHAIN_H
#define STAGEWRIGHT_LIB_SCHEDULING_BOUNDS_CHAIN_H

#include "stagewright/Scheduling/ScheduleProblem.h"

namespace stagewright::bounds {

/// How often `each` fits in `memory`, at most `most`. If in doubt it rounds up,
/// so that bounds remain valid.
int64_t timesThatFit(double memory, double each, int64_t most);

class Chain {
public:
  explicit Chain(const ScheduleProblem &given);

  const ScheduleProblem problem; ///< Times are shares of pairs.
  /// Stages by rank, in increasing order.
  std::vector<std::vector<int64_t>> stages;

  int64_t last() const { return int64_t(problem.stages.size()) - 1; }
  int64_t lowest(int64_t rank) const { return stages[rank].front(); }
  int64_t highest(int64_t rank) const { return stages[rank].back(); }
  /// From the start of F of stage `from` to the start of F of `to` >= `from`.
  double forward(int64_t from, int64_t to) const {
    return down[to] - down[from];
  }
  /// From the end of F of `stage` to the start of its I.
  double turn(int64_t stage) const;
  /// From the end of I of `from` to the end of I of `to` <= `from`.
  double backward(int64_t from, int64_t to) const {
    return up[from] - up[to] - inputTime(from) + inputTime(to);
  }
  /// From the start of F of `from` to the start of I of `to`.
  double around(int64_t from, int64_t to) const {
    return forward(from, last()) + bottom + up[last()] - up[to];
  }

  double forwardTime(int64_t stage) const {
    return problem.stages[stage].forward.value;
  }
  double inputTime(int64_t stage) const {
    return problem.stages[stage].inputGradient.value;
  }
  double weightTime(int64_t stage) const {
    return problem.stages[stage].weightGradient.value;
  }
  /// All actions of `rank` for one microbatch: F, I and W of its stages, or F.
  double work(int64_t rank) const;
  /// How much longer than their shares the first F and the last backward of a
  /// rank take together; they are in no pair.
  double alonePremium(int64_t rank) const { return alone[rank]; }

private:
  /// By stage: from the start of F of stage 0 to that of the stage, and from
  /// the start of I of the stage to that of stage 0.
  std::vector<double> down, up;
  std::vector<double> alone; ///< By rank.
  double bottom = 0; ///< From the start of F to that of I of the last stage.
};

} // namespace stagewright::bounds

#endif // STAGEWRIGHT_LIB_SCHEDULING_BOUNDS_CHAIN_H
