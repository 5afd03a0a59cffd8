//===- AutoSchedule.h - schedules found by search ---------------*- C++ -*-===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The search starts from all generators. With one stage per rank, greedy
// construction with many settings, exact search on small problems and local
// search follow; with several stages, construction by rounds and by walks along
// patterns, and annealing. It stops as soon as the lower bound is met.
// Deterministic: effort is counted in steps, not in seconds.
//
//===----------------------------------------------------------------------===//

#ifndef STAGEWRIGHT_SCHEDULING_AUTOSCHEDULE_H
#define STAGEWRIGHT_SCHEDULING_AUTOSCHEDULE_H

#include "stagewright/Scheduling/LowerBounds.h"
#include "stagewright/Scheduling/Timing.h"
#include <functional>

namespace stagewright {

enum class ScheduleObjective { Makespan, Span };

struct AutoScheduleOptions {
  ScheduleObjective objective = ScheduleObjective::Makespan;
  /// Effort: 1 is that of the command line, 0 means only the generators and one
  /// round of construction. The time of a search grows about linearly with it.
  double effort = 1;
  /// Whether forwards may be recomputed if memory is short.
  bool recompute = false;
  /// Whether a backward may be split into I and W.
  bool split = true;
  /// Called occasionally in long searches: best value so far and the bound.
  std::function<void(Seconds best, Seconds bound)> progress;
};

/// Whether a search proves that no order is better.
enum class Optimality {
  Unknown,
  /// None that runs the microbatches of each stage and kind of action first in,
  /// first out: an exact search has finished (docs/schedule-bounds.md, section
  /// 4).
  FirstInFirstOut,
  Proved ///< None at all: the lower bound is met.
};

/// As an addition to a line of text: ", optimal"; empty if it is unknown.
const char *toText(Optimality optimality);

struct AutoSchedule {
  Schedule schedule;
  Timeline timing;
  LowerBounds bounds;
  Placement placement = Placement::Linear; ///< Of schedule and bounds.
  std::string origin; ///< Which seed or search found it, such as "zb-h2".
  Optimality optimality = Optimality::Unknown;
};

/// The best schedule found for the problem's placement. Fails if check() fails,
/// if a search would be too large, if memory is too small for any order (that
/// error states by how much, and the smallest limit that suffices), or, with
/// twin placement, if no generator fits.
Result<AutoSchedule> findSchedule(const ScheduleProblem &problem,
                                  const AutoScheduleOptions &options = {});

/// findSchedule() for every placement that `chunks` allows: linear (neighbours
/// merged), loop and v. Sorted by the objective, the best first, and then by
/// the other metric. `problem.placement` is ignored; costs are those of ranks *
/// chunks stages.
Result<std::vector<AutoSchedule>>
findScheduleAnyPlacement(const ScheduleProblem &problem,
                         const AutoScheduleOptions &options = {});

} // namespace stagewright

#endif // STAGEWRIGHT_SCHEDULING_AUTOSCHEDULE_H
