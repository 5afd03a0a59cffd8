//===- Naive.h - schedules by brute force -----------------------*- C++ -*-===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What the verifier and the timing are held against: the rules of a chain of
// stages written down once more, as plainly as possible, and ranks that are
// looked at in turn until none can do anything. Nothing is shared with the
// library but the data.
//
//===----------------------------------------------------------------------===//

#ifndef STAGEWRIGHT_TEST_UNIT_SCHEDULING_NAIVE_H
#define STAGEWRIGHT_TEST_UNIT_SCHEDULING_NAIVE_H

#include "../Random.h"
#include "stagewright/Scheduling/Communication.h"
#include "stagewright/Scheduling/Generators.h"
#include "stagewright/Scheduling/ScheduleProblem.h"
#include <optional>

namespace stagewright::testing {

/// Stage and microbatch.
using Cell = std::pair<int64_t, int64_t>;

inline Cell cellOf(const Action &action) {
  return {action.stage, action.microbatch};
}
inline char letterOf(const Action &action) { return char(action.kind); }

/// Every cell has its actions, on one rank, and pairs are pairs.
bool isComplete(const Schedule &schedule, bool forwardOnly);

struct NaiveTiming {
  /// By rank and step: start and end.
  std::vector<std::vector<std::pair<double, double>>> times;
  std::vector<double> peaks;
  double makespan = 0, span = 0;
};

/// Runs `schedule` on a chain of stages; nothing if it is not complete or does
/// not finish. Costs are those of `problem`, whose placement is not looked at.
std::optional<NaiveTiming> runNaively(const Schedule &schedule,
                                      const ScheduleProblem &problem);

/// Whether the ranks finish that have these lists, on a chain of stages where
/// each route has room for `room` messages at the receiver, each until its
/// first use has ended; 0: for all.
bool finishesNaively(const CommSchedule &schedule, bool forwardOnly,
                     int64_t room);

/// Equal stages and no hops for a schedule of a generator.
ScheduleProblem unitProblem(const Generator &generator,
                            const ScheduleShape &shape,
                            const Schedule &schedule);

struct Sample {
  std::string name; ///< "zb-v, p = 2, m = 5".
  Schedule schedule;
  ScheduleProblem problem; ///< unitProblem().
};

/// Schedules of every generator for up to four ranks, forward only too.
std::vector<Sample> sampleSchedules();

/// Draws all times, hops and memories of stages; now and then a time of
/// nothing.
void drawCosts(ScheduleProblem &problem, Draw &draw);

/// Runs some forwards once more just before their backward.
void recomputeSome(Schedule &schedule, Draw &draw);

} // namespace stagewright::testing

#endif // STAGEWRIGHT_TEST_UNIT_SCHEDULING_NAIVE_H
