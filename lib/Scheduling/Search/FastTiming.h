//===- FastTiming.h - times of many orders of one problem -------*- C++ -*-===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What searches run thousands of times: timeSchedule() on flat arrays of whole
// numbers, without checks, pairs or recomputation. Times are in ticks, a power
// of two of seconds, and memory in grains, so sums are exact and a comparison
// gives the same answer on every machine. Linear in the actions; run()
// allocates nothing.
//
// A lane is one phase of one stage; an action is a lane and a microbatch in one
// number. Where backwards are not split there is no W and I stands for B.
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
  int32_t consumer = -1; ///< The rank whose lane waits for it, if another one.
  Grains taken = 0;      ///< At its start.
  Grains freed = 0;      ///< At its end.
};

/// A ScheduleProblem in ticks and grains.
struct FastProblem {
  int32_t ranks = 1, stages = 1, microbatches = 1;
  int32_t shift = 0;       ///< 1 << shift >= microbatches.
  int32_t phases = 3;      ///< Of a stage: F; F and B; or F, I and W.
  std::vector<Lane> lanes; ///< 3 * stages, by stage and phase.
  std::vector<std::vector<int32_t>> stagesOf; ///< By rank, increasing.
  Grains memory = 0;                          ///< Of each rank.
  double tick = 1;                            ///< Seconds of a tick.

  /// `problem` must pass check(); its overlap is not looked at. Twin placement
  /// has no lanes. At most 2^28 actions.
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
/// problem's stages. B becomes I where backwards are whole, I and W where they
/// are split.
FastOrders encode(const Schedule &schedule, const FastProblem &problem);
Schedule decode(const FastOrders &orders, const FastProblem &problem,
                std::string kind);

/// The most that a rank holds in `order`: it depends on no other rank.
Grains peakOf(std::span<const Code> order, const FastProblem &problem);
bool fitsMemory(const FastOrders &orders, const FastProblem &problem);

/// Times orders of one problem, one after another.
class FastTimer {
public:
  explicit FastTimer(const FastProblem &problem);

  /// Every action as early as it can. False where the ranks wait for each
  /// other; orders must be complete and right within each rank.
  bool run(const FastOrders &orders);

  /// Of the last run that returned true.
  Ticks makespan() const { return makespanTicks; }
  Ticks span() const { return spanTicks; }
  Ticks endOf(Code code) const { return ends[code]; }
  Ticks startOf(Code code) const {
    return ends[code] - problem.lanes[problem.laneOf(code)].duration;
  }
  Ticks firstStart(int32_t rank) const { return starts[rank]; }
  Ticks lastEnd(int32_t rank) const { return frees[rank]; }

private:
  const FastProblem &problem;
  std::vector<Ticks> ends; ///< By code; -1 before it ran.
  std::vector<Ticks> starts, frees;
  std::vector<size_t> next;
  std::vector<Code> waitingFor; ///< By rank.
  std::vector<int32_t> ready;
  Ticks makespanTicks = 0, spanTicks = 0;
};

} // namespace stagewright::search

#endif // STAGEWRIGHT_LIB_SCHEDULING_SEARCH_FASTTIMING_H
