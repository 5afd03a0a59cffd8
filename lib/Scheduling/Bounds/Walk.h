//===- Walk.h - orders of a stage, as paths of states -----------*- C++ -*-===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// All orders of F, I and W of one stage that fit its memory, as paths through
// states. A state is the number of F, I and W done. The n-th F and the n-th I
// each have a time window.
//
//===----------------------------------------------------------------------===//

#ifndef STAGEWRIGHT_LIB_SCHEDULING_BOUNDS_WALK_H
#define STAGEWRIGHT_LIB_SCHEDULING_BOUNDS_WALK_H

#include "stagewright/Scheduling/ScheduleProblem.h"

namespace stagewright::bounds {

class Walk {
public:
  /// Window of the n-th action of a kind: earliest start, latest end. Seconds.
  struct Times {
    std::vector<double> start, end;
  };

  /// Buffers with a time for every state; several walks may share them.
  struct Scratch {
    std::vector<double> earliest, latest;
  };

  /// Times that differ by `slack` count as equal.
  Walk(const StageCosts &costs, int64_t microbatches, double memory,
       double slack);

  /// Narrows the windows to the times that paths use; false if there is no
  /// path.
  bool run(Scratch &scratch);

  /// The latest time at which a state may be reached so that `endBy` and all
  /// later windows can be met; read from the `scratch` of the last run().
  double latest(const Scratch &scratch, int64_t f, int64_t i, int64_t w) const {
    return scratch.latest[indexOf({f, i, w})];
  }
  /// Whether memory can hold what is kept when so many F, I and W are done.
  bool fits(int64_t f, int64_t i, int64_t w) const { return holds({f, i, w}); }

  double numStates() const {
    return double(microbatches + 1) * double(mostHeld + 1) *
           double(mostKept + 1);
  }

  Times forward, input;
  double endBy;       ///< Latest end of all actions.
  double earliestEnd; ///< Earliest end of all actions.

private:
  struct State {
    int64_t f, i, w;
  };
  /// An edge between states: one action.
  struct Step {
    State from;
    double start, end; ///< Window of the action.
    double length;
  };

  /// Sorted by f, then by f - i (activations held), then by i - w (pending W).
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
  int64_t mostHeld = 0, mostKept = 0; ///< Max of f - i and of i - w.
};

} // namespace stagewright::bounds

#endif // STAGEWRIGHT_LIB_SCHEDULING_BOUNDS_WALK_H
