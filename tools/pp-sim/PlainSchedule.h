//===- PlainSchedule.h - a schedule without a model -------------*- C++ -*-===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef STAGEWRIGHT_TOOLS_PP_SIM_PLAINSCHEDULE_H
#define STAGEWRIGHT_TOOLS_PP_SIM_PLAINSCHEDULE_H

#include "ScheduleFlags.h"
#include "stagewright/Scheduling/AutoSchedule.h"

namespace stagewright {

/// A schedule, its times, and bounds on those of all orders with its placement.
struct PlainSchedule {
  ScheduleProblem problem;
  /// Whether stages are placed as in `problem.placement`; false for other
  /// placements of a file, for which work is the only bound.
  bool hasPlacement = true;
  Schedule schedule;
  Timeline timing;
  LowerBounds bounds;
  /// Bounds for schedules without split backwards, if a generator or a file
  /// gave one that also recomputes nothing.
  std::optional<LowerBounds> boundsWithoutSplit;
  std::string name;   ///< "zb-h1", "auto", "orders.csv".
  std::string origin; ///< The method by which auto found it.
  Optimality optimality = Optimality::Unknown;
  /// The best schedule of each placement, if auto chose the placement; the
  /// first is this one.
  std::vector<AutoSchedule> placements;

  /// The placement, such as "v placement".
  std::string placementText() const;
  /// A title: "zb-h1, 4 ranks, 8 microbatches, linear placement".
  std::string title() const;
};

/// m * T, the max work of a rank, and that rank. An overlapped pair counts with
/// the time that both take together; recomputed forwards do not count.
std::pair<Seconds, int64_t> maxWork(const Schedule &schedule,
                                    const ScheduleProblem &problem);

/// Generates, searches for or reads the schedule that `flags` describe, and
/// times it. An error in one flag names the flag, one in a file the file.
Result<PlainSchedule> makeSchedule(const ScheduleFlags &flags);

} // namespace stagewright

#endif // STAGEWRIGHT_TOOLS_PP_SIM_PLAINSCHEDULE_H
