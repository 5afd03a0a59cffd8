//===- Best.h - the best order found so far ---------------------*- C++ -*-===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What all searches of one problem have in common: the objective, the bound to
// stop at, and the best so far. Among equal values of the objective the other
// metric decides, then how regular an order is, since a program runs
// repetitions as loops and the rest from tables, and then who came first.
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
  /// Less than 0: better than the best so far but for regularity; 0: as good.
  int compare(std::pair<Seconds, Seconds> offered) const;

  std::pair<Seconds, Seconds> values;
  int64_t irregularities = 0;
};

/// How often an order does not go on as it did one microbatch earlier: 0 or a
/// few for what repeats one body.
int64_t irregularityOf(const Schedule &schedule);

} // namespace stagewright::search

#endif // STAGEWRIGHT_LIB_SCHEDULING_SEARCH_BEST_H
