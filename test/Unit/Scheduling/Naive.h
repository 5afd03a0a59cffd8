//===- Naive.h - schedules by brute force -----------------------*- C++ -*-===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A reference for the verifier and the timing: a second implementation of the
// rules of a chain of stages, as simple as possible. It tries each rank in turn
// until none can advance. It shares only the data structures with the library.
//
//===----------------------------------------------------------------------===//

#ifndef STAGEWRIGHT_TEST_UNIT_SCHEDULING_NAIVE_H
#define STAGEWRIGHT_TEST_UNIT_SCHEDULING_NAIVE_H

#include "../Random.h"
#include "stagewright/Scheduling/Generators.h"
#include "stagewright/Scheduling/ScheduleProblem.h"
#include "stagewright/Scheduling/TorchCsv.h"
#include <optional>

namespace stagewright::testing {

/// A stage and a microbatch.
using Cell = std::pair<int64_t, int64_t>;

inline Cell cellOf(const Action &action) {
  return {action.stage, action.microbatch};
}
inline char letterOf(const Action &action) { return char(action.kind); }

/// Whether every cell has all its actions on one rank, and all pairs are valid.
bool isComplete(const Schedule &schedule, bool forwardOnly);

struct NaiveTiming {
  /// By rank and step: start and end.
  std::vector<std::vector<std::pair<double, double>>> times;
  std::vector<double> peaks;
  double makespan = 0, span = 0;
};

/// Runs `schedule` on a chain of stages; none if it is incomplete or does not
/// finish. Costs are those of `problem`; its placement is ignored.
std::optional<NaiveTiming> runNaively(const Schedule &schedule,
                                      const ScheduleProblem &problem);

/// Whether ranks with these lists finish, on a chain of stages; forward-only if
/// they have no backward.
bool finishesNaively(const TorchLists &lists);

/// A problem with equal stages and free hops for a schedule of a generator.
ScheduleProblem unitProblem(const Generator &generator,
                            const ScheduleShape &shape,
                            const Schedule &schedule);

struct Sample {
  std::string name; ///< "zb-v, p = 2, m = 5".
  Schedule schedule;
  ScheduleProblem problem; ///< unitProblem().
};

/// Schedules of every generator for up to four ranks, also forward-only ones.
std::vector<Sample> sampleSchedules();

/// Draws all times, hops and activation sizes of stages; some times are 0.
void drawCosts(ScheduleProblem &problem, Draw &draw);

/// Adds recomputations just before some backwards.
void recomputeSome(Schedule &schedule, Draw &draw);

} // namespace stagewright::testing

#endif // STAGEWRIGHT_TEST_UNIT_SCHEDULING_NAIVE_H
