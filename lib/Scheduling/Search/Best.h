//===- Best.h - the best schedule found so far ------------------*- C++ -*-===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What all searches of one problem share: the objective, the bound at which to
// stop, and the best schedule so far. If the objective is equal, the other
// metric decides, then the regularity of the orders, since a program runs
// repetitions as loops and the rest from tables; the first one found wins a
// tie.
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

  /// Takes `schedule` if it is complete, fits the memory and is better.
  bool offer(const Schedule &schedule, const std::string &origin);
  /// The same for orders that `timer` has just timed; cheap if no better.
  bool offer(const FastOrders &orders, const FastTimer &timer,
             const FastProblem &fast, const std::string &origin);

  bool found() const { return !schedule.ranks.empty(); }
  /// The objective and the other metric, in this order.
  template <typename Time>
  std::pair<Time, Time> order(Time makespan, Time span) const {
    return options.objective == ScheduleObjective::Makespan
               ? std::pair(makespan, span)
               : std::pair(span, makespan);
  }
  /// The best value of the objective, and its other metric.
  std::pair<Seconds, Seconds> value() const { return values; }
  /// Whether the objective is optimal; the other metric may still improve.
  bool meetsBound() const;
  Seconds bound() const {
    return options.objective == ScheduleObjective::Makespan
               ? bounds.makespan.value
               : bounds.span.value;
  }
  /// Calls options.progress, if set.
  void report() const;

  const ScheduleProblem &problem;
  const LowerBounds &bounds;
  const AutoScheduleOptions &options;
  Schedule schedule;
  Timeline timing;
  std::string origin;

private:
  /// Without regard to regularity: negative if `offered` is better than the
  /// best so far, 0 if equal.
  int compare(std::pair<Seconds, Seconds> offered) const;

  std::pair<Seconds, Seconds> values;
  int64_t irregularities = 0;
};

/// Number of actions whose kind or stage differs from that of the action one
/// microbatch earlier; 0 or a few if every order repeats one body.
int64_t irregularityOf(const Schedule &schedule);

} // namespace stagewright::search

#endif // STAGEWRIGHT_LIB_SCHEDULING_SEARCH_BEST_H
