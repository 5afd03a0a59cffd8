//===- PlainGenerator.cpp - schedules from generators ---------------------===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "PlainParts.h"
#include "ScheduleCosts.h"
#include "stagewright/Scheduling/Generators.h"
#include "stagewright/Support/Limits.h"
#include <algorithm>
#include <array>

namespace stagewright {

Status readShape(const ScheduleFlags &flags, int64_t otherChunks,
                 ScheduleProblem &problem) {
  for (auto [flag, text] : {std::pair("--ranks", &flags.ranks),
                            std::pair("--microbatches", &flags.microbatches)})
    if (text->empty())
      return Error{std::string(flag) + " is missing; --schedule=" +
                   flags.schedule + " needs --ranks and --microbatches"};
  auto ranks = readCount("--ranks", flags.ranks, kMostStages, 1);
  auto chunks = readCount("--chunks", flags.chunks, kMostStages, otherChunks);
  auto microbatches =
      readCount("--microbatches", flags.microbatches, kMostMicrobatches, 1);
  for (const Result<int64_t> *count : {&ranks, &chunks, &microbatches})
    if (!*count)
      return count->error();
  if (*chunks > kMostStages / *ranks ||
      *microbatches > kMostForwards / (*ranks * *chunks))
    return Error{"a schedule has at most " + std::to_string(kMostStages) +
                 " stages and " + std::to_string(kMostForwards) +
                 " forwards, but " + std::to_string(*ranks) + " ranks times " +
                 std::to_string(*chunks) + " chunks, and times " +
                 std::to_string(*microbatches) + " microbatches, are more"};
  problem.ranks = *ranks;
  problem.chunks = *chunks;
  problem.microbatches = *microbatches;
  return {};
}

Status refuseSearchFlags(const ScheduleFlags &flags) {
  const char *flag = flags.noSplit                   ? "--no-split"
                     : flags.recompute               ? "--recompute"
                     : flags.placement == "any"      ? "--placement=any"
                     : !flags.recomputeInput.empty() ? "--recompute-input"
                     : !flags.objective.empty()      ? "--objective"
                                                     : nullptr;
  if (!flag)
    return {};
  return Error{std::string(flag) + " is for --schedule=auto, not for '" +
               flags.schedule + "'"};
}

Status takePlacement(const ScheduleFlags &flags, bool hasPlacement,
                     ScheduleProblem &problem) {
  if (flags.placement.empty())
    return {};
  Result<Placement> wanted = parsePlacement(flags.placement);
  if (!wanted)
    return Error{"--placement: " + wanted.error().message + ", any"};
  bool twin =
      *wanted == Placement::Twin || problem.placement == Placement::Twin;
  ScheduleProblem asked = problem;
  asked.placement = *wanted;
  bool same = *wanted == problem.placement || !twin;
  for (int64_t stage = 0; same && !twin && stage < problem.numStages(); ++stage)
    same = asked.rankOf(stage) == problem.rankOf(stage);
  if (hasPlacement && same) {
    problem.placement = *wanted;
    return {};
  }
  return Error{"--placement=" + flags.placement + ": '" + flags.schedule +
               "' places its stages " +
               (hasPlacement ? std::string("as ") + toString(problem.placement)
                             : "in a way of its own") +
               "; leave the flag out, or use --schedule=auto"};
}

static double hopRatioOf(const ScheduleProblem &problem) {
  Seconds hop, forward = problem.stages.front().forward;
  for (Seconds each : problem.hops)
    hop = std::max(hop, each);
  for (const StageCosts &stage : problem.stages)
    forward = std::min(forward, stage.forward);
  return forward > Seconds() ? hop.value / forward.value : 0;
}

/// The generators that use ScheduleShape::group.
static constexpr std::array<std::string_view, 3> kWithGroups = {
    "interleaved", "interleaved-zb", "forward-only"};

Result<PlainSchedule> scheduleOfGenerator(const ScheduleFlags &flags) {
  Result<Generator> generator = findGenerator(flags.schedule);
  if (!generator)
    return Error{"--schedule: " + generator.error().message +
                 ", auto, or a file that ends in .csv"};
  PlainSchedule plain;
  plain.name = generator->name;
  plain.problem.placement = generator->placement;
  Status status = refuseSearchFlags(flags);
  if (status)
    status = readShape(flags, generator->leastChunks, plain.problem);
  if (status)
    status = takePlacement(flags, /*hasPlacement=*/true, plain.problem);
  if (status)
    status = readCosts(flags, plain.problem);
  if (!status)
    return status.error();
  // The generator "forward-only" is for inference.
  plain.problem.forwardOnly |= plain.name == "forward-only";
  bool groups = std::find(kWithGroups.begin(), kWithGroups.end(), plain.name) !=
                kWithGroups.end();
  if (!flags.group.empty() && !groups)
    return Error{"--group: '" + flags.schedule +
                 "' has no groups of microbatches; leave the flag out, or use "
                 "interleaved, interleaved-zb or forward-only"};
  Result<int64_t> group =
      readCount("--group", flags.group, kMostMicrobatches, 0);
  if (!group)
    return group.error();
  Result<Schedule> schedule =
      generator->generate({plain.problem.ranks, plain.problem.microbatches,
                           plain.problem.forwardOnly, plain.problem.chunks,
                           *group, hopRatioOf(plain.problem)});
  if (!schedule)
    return schedule.error();
  plain.schedule = std::move(*schedule);
  if (status = finish(plain); !status)
    return status.error();
  return plain;
}

} // namespace stagewright
