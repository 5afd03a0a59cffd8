//===- PlainSearch.cpp - schedules from a search --------------------------===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "PlainParts.h"
#include "ScheduleCosts.h"

namespace stagewright {

/// The placement that auto must use; nullopt: any.
static Result<std::optional<Placement>>
readAutoPlacement(const ScheduleFlags &flags, int64_t chunks) {
  if (flags.placement == "any" || (flags.placement.empty() && chunks > 1))
    return std::optional<Placement>();
  if (flags.placement.empty())
    return std::optional(Placement::Linear);
  Result<Placement> placement = parsePlacement(flags.placement);
  if (!placement || *placement == Placement::Twin)
    return Error{
        "--placement must be linear, loop, v or any for --schedule=auto, "
        "got '" +
        flags.placement + "'"};
  return std::optional(*placement);
}

Result<PlainSchedule> scheduleOfSearch(const ScheduleFlags &flags) {
  if (!flags.group.empty())
    return Error{"--group is for a generator, not for auto"};
  if (!flags.recomputeInput.empty() && !flags.recompute)
    return Error{"--recompute-input needs --recompute; add it"};
  PlainSchedule plain;
  plain.name = "auto";
  bool chunked = !flags.placement.empty() && flags.placement != "linear";
  Status status = readShape(flags, chunked ? 2 : 1, plain.problem);
  if (status)
    status = readCosts(flags, plain.problem);
  if (!status)
    return status.error();
  auto placement = readAutoPlacement(flags, plain.problem.chunks);
  if (!placement)
    return placement.error();
  AutoScheduleOptions options;
  options.recompute = flags.recompute;
  options.split = !flags.noSplit;
  if (flags.objective == "span")
    options.objective = ScheduleObjective::Span;
  AutoSchedule found;
  if (*placement) {
    plain.problem.placement = **placement;
    Result<AutoSchedule> best = findSchedule(plain.problem, options);
    if (!best)
      return best.error();
    found = std::move(*best);
  } else {
    auto all = findScheduleAnyPlacement(plain.problem, options);
    if (!all)
      return all.error();
    found = all->front();
    plain.placements = std::move(*all);
  }
  plain.problem.placement = found.placement;
  plain.schedule = std::move(found.schedule);
  plain.timing = std::move(found.timing);
  plain.bounds = found.bounds;
  plain.origin = found.origin;
  plain.optimality = found.optimality;
  return plain;
}

} // namespace stagewright
