//===- FastTiming.h - fast timing for searches ------------------*- C++ -*-===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// timeSchedule() for searches, which call it thousands of times: on flat
// integer arrays, without checks, pairs or recomputation. Times are whole
// numbers of ticks, of 2^n seconds each, and amounts of memory whole numbers of
// grains, so that sums are exact and comparisons give the same result on every
// machine. Linear in the number of actions; run() does not allocate.
//
// A lane is one phase of one stage; an action is a lane and a microbatch,
// packed into one number. If backwards are not split, there is no W, and I
// stands for B.
//
//===----------------------------------------------------------------------===//

#ifndef STAGEWRIGHT_LIB_SCHEDULING_SEARCH_FASTTIMING_H
#define STAGEWRIGHT_LIB_SCHEDULING_SEARCH_FASTTIMING_H

#include "stagewright/Scheduling/Schedule.h"
#include "stagewright/Scheduling/ScheduleProblem.h"
#include <span>

namespace stagewright::search {

using Ticks = int64_t;
using Grains = int64_t;

enum Phase : int32_t { F = 0, I = 1, W = 2 };

/// An action: lane << shift | microbatch, see FastProblem.
using Code = int32_t;
using FastOrders = std::vector<std::vector<Code>>;

/// One phase of one stage.
struct Lane {
  Ticks duration = 0;
  Ticks hop = 0; ///< From the end of `input` to the earliest start.
  int32_t rank = 0;
  int32_t input = -1;    ///< The lane of another stage that it waits for.
  int32_t consumer = -1; ///< Another rank whose lane waits for it, or -1.
  Grains taken = 0;      ///< At its start.
  Grains freed = 0;      ///< At its end.
};

/// A ScheduleProblem in ticks and grains.
struct FastProblem {
  int32_t ranks = 1, stages = 1, microbatches = 1;
  int32_t shift = 0;       ///< 1 << shift >= microbatches.
  int32_t phases = 3;      ///< Per stage: F; F and B; or F, I and W.
  std::vector<Lane> lanes; ///< 3 * stages, by stage and phase.
  std::vector<std::vector<int32_t>> stagesOf; ///< By rank, increasing.
  Grains memory = 0;                          ///< Of each rank.
  double tick = 1;                            ///< Seconds of a tick.

  /// `problem` must pass check(); its overlap is ignored. Twin placement is not
  /// supported. At most 2^28 actions.
  static FastProblem of(const ScheduleProblem &problem, bool split = true);

  Code code(int32_t stage, Phase phase, int32_t microbatch) const {
    return ((stage * 3 + phase) << shift) | microbatch;
  }
  int32_t laneOf(Code code) const { return code >> shift; }
  int32_t stageOf(Code code) const { return (code >> shift) / 3; }
  Phase phaseOf(Code code) const { return Phase((code >> shift) % 3); }
  int32_t microbatchOf(Code code) const { return code & ((1 << shift) - 1); }
  const Lane &lane(int32_t stage, Phase phase) const {
    return lanes[stage * 3 + phase];
  }
  Seconds seconds(Ticks ticks) const { return Seconds(double(ticks) * tick); }
  int64_t actionsPerRank(int32_t rank) const {
    return int64_t(stagesOf[rank].size()) * phases * microbatches;
  }
};

/// The codes of `schedule`, whose actions must be F, B, I and W of the
/// problem's stages. B becomes I if backwards are whole, else I and W.
FastOrders encode(const Schedule &schedule, const FastProblem &problem);
Schedule decode(const FastOrders &orders, const FastProblem &problem,
                std::string kind);

/// Peak memory of a rank with this `order`; independent of the other ranks.
Grains peakOf(std::span<const Code> order, const FastProblem &problem);

/// Where a rank is in its order.
struct RankClock {
  Ticks start = 0, end = 0; ///< Of what has run.
  Ticks left = 0;           ///< Work from `next` on; set if there is a limit.
  int32_t next = 0;         ///< Position in the order.
  Code waitingFor = -1;
};

/// Times orders of one problem, one after another.
class FastTimer {
public:
  explicit FastTimer(const FastProblem &problem)
      : problem(problem), ends(problem.lanes.size() << problem.shift),
        clocks(problem.ranks) {
    ready.reserve(2 * problem.ranks);
  }

  /// Starts every action as early as possible. Returns false on deadlock;
  /// orders must be complete, and valid within each rank.
  bool run(const FastOrders &orders);
  /// Continues from the state in `clocks` and `ends`. Also returns false as
  /// soon as the span or the end of a rank must exceed `limit`.
  bool resume(const FastOrders &orders, Ticks limit, bool span);

  /// Of the last run that returned true.
  Ticks makespan() const { return makespanTicks; }
  Ticks span() const { return spanTicks; }
  Ticks endOf(Code code) const { return ends[code]; }
  Ticks startOf(Code code) const {
    return ends[code] - problem.lanes[problem.laneOf(code)].duration;
  }

  const FastProblem &problem;
  std::vector<Ticks> ends; ///< By code; -1 before it ran.
  std::vector<RankClock> clocks;

private:
  template <bool limited>
  bool runAll(const FastOrders &orders, Ticks limit, bool span);
  template <bool limited>
  bool runRank(const std::vector<Code> &order, int32_t rank, Ticks limit,
               bool span);

  std::vector<int32_t> ready;
  Ticks makespanTicks = 0, spanTicks = 0;
};

} // namespace stagewright::search

#endif // STAGEWRIGHT_LIB_SCHEDULING_SEARCH_FASTTIMING_H
