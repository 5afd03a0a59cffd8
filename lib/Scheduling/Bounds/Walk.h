//===- Walk.h - the orders of one rank, by counts ---------------*- C++ -*-===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// All orders of F, I and W of one stage that its memory has room for, as walks
// over the numbers done of each, where the n-th F and the n-th I have a window.
//
//===----------------------------------------------------------------------===//

#ifndef STAGEWRIGHT_LIB_SCHEDULING_BOUNDS_WALK_H
#define STAGEWRIGHT_LIB_SCHEDULING_BOUNDS_WALK_H

#include "stagewright/Scheduling/ScheduleProblem.h"

namespace stagewright::bounds {

class Walk {
public:
  /// When the n-th action of a kind can start and has to end.
  struct Times {
    std::vector<double> start, end;
  };

  /// Room for the times of all states, which walks may share.
  struct Scratch {
    std::vector<double> earliest, latest;
  };

  /// Times that differ by `slack` count as equal.
  Walk(const StageCosts &costs, int64_t microbatches, double memory,
       double slack);

  /// Narrows the windows to what some walk uses; false if there is no walk.
  bool run(Scratch &scratch);

  /// The latest time of a state from which `endBy` and all windows can be met,
  /// out of what run() has left in `scratch`.
  double latest(const Scratch &scratch, int64_t f, int64_t i, int64_t w) const {
    return scratch.latest[indexOf({f, i, w})];
  }
  /// Whether memory has room for an action after which so many are done.
  bool fits(int64_t f, int64_t i, int64_t w) const { return holds({f, i, w}); }

  double numStates() const {
    return double(microbatches + 1) * double(mostHeld + 1) *
           double(mostKept + 1);
  }

  Times forward, input;
  double endBy;       ///< By when everything has to be done.
  double earliestEnd; ///< When everything can be done.

private:
  struct State {
    int64_t f, i, w;
  };
  /// One action more.
  struct Step {
    State from;
    double start, end; ///< Window of the action.
    double length;
  };

  /// By f, then by activations held, then by what waits for W.
  size_t indexOf(const State &s) const {
    return size_t((s.f * (mostHeld + 1) + s.f - s.i) * (mostKept + 1) + s.i -
                  s.w);
  }
  bool holds(const State &s) const;
  int enter(const State &to, Step steps[3]) const;
  void goForward(std::vector<double> &earliest) const;
  bool goBack(Scratch &scratch);

  double times[3]; ///< F, I, W.
  double activation, kept, memory, slack;
  int64_t microbatches;
  int64_t mostHeld = 0, mostKept = 0; ///< Of f - i and of i - w.
};

} // namespace stagewright::bounds

#endif // STAGEWRIGHT_LIB_SCHEDULING_BOUNDS_WALK_H
