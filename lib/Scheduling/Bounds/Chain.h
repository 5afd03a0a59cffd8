//===- Chain.h - how long one microbatch is under way -----------*- C++ -*-===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Times that a microbatch needs between two of its actions if it waits for
// nobody: sums over the stages that lie between, so no schedule is faster.
//
// Where pairs overlap, every action is given its share of the pair as its own
// time, one half behind the other: any schedule of pairs is then a schedule of
// such single actions, and what holds for all those holds for it. Only what a
// microbatch waits for is longer, since a pair hands on at its end.
//
//===----------------------------------------------------------------------===//

#ifndef STAGEWRIGHT_LIB_SCHEDULING_BOUNDS_CHAIN_H
#define STAGEWRIGHT_LIB_SCHEDULING_BOUNDS_CHAIN_H

#include "stagewright/Scheduling/ScheduleProblem.h"

namespace stagewright::bounds {

/// A number of times that something fits in `memory`, at most `most`; rounding
/// is in favour of one more, so that bounds err on the safe side.
int64_t timesThatFit(double memory, double each, int64_t most);

class Chain {
public:
  explicit Chain(const ScheduleProblem &given);

  const ScheduleProblem problem; ///< With shares of pairs for times.
  /// By rank, in increasing order.
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
  /// F, I and W of all stages of `rank` for one microbatch.
  double work(int64_t rank) const;
  /// By how much the first F and the last backward of a rank, which are in no
  /// pair, are longer than their shares, together.
  double alonePremium(int64_t rank) const { return alone[rank]; }

private:
  std::vector<double> down, up; ///< From start to start of F, and of I.
  std::vector<double> alone;    ///< By rank.
  double bottom = 0;            ///< From F to I of the last stage.
};

} // namespace stagewright::bounds

#endif // STAGEWRIGHT_LIB_SCHEDULING_BOUNDS_CHAIN_H
