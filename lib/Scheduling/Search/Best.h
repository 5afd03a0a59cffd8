//===- Best.h - the best order found so far ---------------------*- C++ -*-===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What all searches of one problem have in common: the objective, the bound to
// stop at, and the best so far. Among equal values of the objective the other
// metric decides, and then who came first: generators come first, because they
// are the same for every number of microbatches and become short loops.
//
//===----------------------------------------------------------------------===//

#ifndef STAGEWRIGHT_LIB_SCHEDULING_SEARCH_BEST_H
#define STAGEWRIGHT_LIB_SCHEDULING_SEARCH_BEST_H

#include "Search/FastTiming.h"
#include "stagewright/Scheduling/AutoSchedule.h"

namespace stagewright::search {

class Best {
public:
  Best(const ScheduleProblem &problem, const LowerBounds &bounds,
       const AutoScheduleOptions &options)
      : problem(problem), bounds(bounds), options(options) {}

  /// Takes `schedule` if it is complete, within memory and better.
  bool offer(const Schedule &schedule, const std::string &origin);
  /// The same for what FastTimer has just timed: cheap where it is no better.
  bool offer(const FastOrders &orders, const FastTimer &timer,
             const FastProblem &fast, const std::string &origin);

  bool found() const { return !schedule.ranks.empty(); }
  /// The objective first, then the other metric.
  template <typename Time>
  std::pair<Time, Time> order(Time makespan, Time span) const {
    return options.objective == ScheduleObjective::Makespan
               ? std::pair(makespan, span)
               : std::pair(span, makespan);
  }
  /// Value of the objective, and of the other metric.
  std::pair<Seconds, Seconds> value() const { return values; }
  /// Nothing better can come, but for the other metric.
  bool meetsBound() const;
  Seconds bound() const {
    return options.objective == ScheduleObjective::Makespan
               ? bounds.makespan.value
               : bounds.span.value;
  }
  /// Tells who asked to be told.
  void report() const;

  const ScheduleProblem &problem;
  const LowerBounds &bounds;
  const AutoScheduleOptions &options;
  Schedule schedule;
  ScheduleTiming timing;
  std::string origin;

private:
  std::pair<Seconds, Seconds> values;
};

} // namespace stagewright::search

#endif // STAGEWRIGHT_LIB_SCHEDULING_SEARCH_BEST_H
