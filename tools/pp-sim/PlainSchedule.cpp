//===- PlainSchedule.cpp - a schedule without a model ---------------------===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "PlainParts.h"
#include "stagewright/Scheduling/Memory.h"
#include "stagewright/Support/Text.h"
#include <algorithm>
#include <tuple>

namespace stagewright {

std::pair<Seconds, int64_t> maxWork(const Schedule &schedule,
                                    const ScheduleProblem &problem) {
  std::pair<Seconds, int64_t> max;
  for (size_t rank = 0; rank < schedule.ranks.size(); ++rank) {
    const Order &order = schedule.ranks[rank];
    Seconds work;
    for (size_t i = 0; i < order.size(); ++i) {
      if (order[i].kind == ActionKind::Recompute)
        continue; // Not part of the bound: recomputation is optional.
      bool first = i + 1 < order.size() && order[i + 1].paired;
      bool overlaps = problem.overlap > 0 && (first || order[i].paired);
      work += problem.stages[order[i].stage].times().of(order[i].kind) *
              (overlaps ? problem.overlap : 1);
    }
    if (work > max.first)
      max = {work, int64_t(rank)};
  }
  return max;
}

std::string PlainSchedule::placementText() const {
  if (!hasPlacement)
    return "a placement of its own";
  using enum Placement;
  bool linear = problem.placement == Loop || problem.placement == V;
  return std::string(toString(problem.placement)) + " placement" +
         (linear && problem.chunks == 1 ? " (with one chunk the same as linear)"
                                        : "");
}

std::string PlainSchedule::title() const {
  return name + ", " + counted(problem.ranks, "rank") + ", " +
         counted(problem.microbatches, "microbatch") + ", " + placementText();
}

bool hasBackward(const Schedule &schedule) {
  return runs(schedule, ActionKind::Backward) ||
         runs(schedule, ActionKind::InputGradient) ||
         runs(schedule, ActionKind::WeightGradient);
}

Status finish(PlainSchedule &plain) {
  Result<Timeline> timing = timeSchedule(plain.schedule, plain.problem);
  if (!timing)
    return timing.error();
  plain.timing = std::move(*timing);
  if (Status status = verifyMemory(plain.schedule, plain.problem); !status)
    return status;
  if (plain.hasPlacement) {
    Result<LowerBounds> bounds =
        lowerBoundsOf(plain.schedule, plain.timing, plain.problem);
    if (!bounds)
      return bounds.error();
    plain.bounds = *bounds;
    if (!runs(plain.schedule, ActionKind::InputGradient) &&
        !runs(plain.schedule, ActionKind::Recompute) &&
        !plain.problem.forwardOnly)
      plain.boundsWithoutSplit = lowerBoundsWithoutSplit(plain.problem);
    return {};
  }
  auto [work, rank] = maxWork(plain.schedule, plain.problem);
  // A bound for all orders: another order may have more pairs.
  if (plain.problem.overlap > 0) {
    ScheduleProblem apart = plain.problem;
    apart.overlap = 0;
    std::tie(work, rank) = maxWork(plain.schedule, apart);
    work = work * plain.problem.overlap;
  }
  plain.bounds.makespan = plain.bounds.span = {work, "work", rank};
  return {};
}

Result<PlainSchedule> makeSchedule(const ScheduleFlags &flags) {
  if (!flags.objective.empty() && flags.objective != "makespan" &&
      flags.objective != "span")
    return Error{"--objective must be makespan or span, but is '" +
                 flags.objective + "'"};
  Result<PlainSchedule> plain =
      flags.schedule == "auto" ? scheduleOfSearch(flags)
      : llvm::StringRef(flags.schedule).ends_with(".csv")
          ? scheduleOfFile(flags)
          : scheduleOfGenerator(flags);
  if (plain)
    if (Status status = execute(flags, *plain); !status)
      return status.error();
  return plain;
}

} // namespace stagewright
