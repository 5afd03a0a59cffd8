//===- PlainFile.cpp - schedules from files -------------------------------===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "PlainParts.h"
#include "ScheduleCosts.h"
#include "stagewright/Scheduling/TorchCsv.h"
#include "stagewright/Support/Files.h"
#include "stagewright/Support/Limits.h"
#include <tuple>

namespace stagewright {

/// Sets the placement of `problem` to that of the ranks of `schedule`; returns
/// false if none matches.
static bool findPlacement(const Schedule &schedule, ScheduleProblem &problem) {
  using enum Placement;
  for (Placement placement : {Linear, Loop, V}) {
    problem.placement = placement;
    bool fits = true;
    for (size_t rank = 0; rank < schedule.ranks.size() && fits; ++rank)
      for (const Action &action : schedule.ranks[rank])
        fits &= problem.rankOf(action.stage) == int64_t(rank);
    if (fits)
      return true;
  }
  problem.placement = Linear;
  return false;
}

/// Sets the numbers of ranks, chunks and microbatches of `problem` to those of
/// the file, or the last one to --microbatches; fails if --ranks or --chunks
/// gives another number.
static Status takeFileShape(const ScheduleFlags &flags, Schedule &schedule,
                            ScheduleProblem &problem) {
  auto ranks = int64_t(schedule.ranks.size());
  if (schedule.stages % ranks != 0)
    return Error{"'" + flags.schedule + "' has " +
                 std::to_string(schedule.stages) + " stages on " +
                 std::to_string(ranks) +
                 " ranks; costs need equally many stages on every rank"};
  int64_t chunks = schedule.stages / ranks;
  for (auto [flag, text, has] :
       {std::tuple("--ranks", &flags.ranks, ranks),
        std::tuple("--chunks", &flags.chunks, chunks)}) {
    Result<int64_t> number = readCount(flag, *text, kMostStages, has);
    if (!number)
      return number.error();
    if (*number != has)
      return Error{std::string(flag) + "=" + *text + ", but '" +
                   flags.schedule + "' has " + std::to_string(has)};
  }
  // If the number of microbatches differs, the verifier reports it.
  Result<int64_t> microbatches =
      readCount("--microbatches", flags.microbatches, kMostMicrobatches,
                schedule.microbatches);
  if (!microbatches)
    return microbatches.error();
  schedule.microbatches = problem.microbatches = *microbatches;
  problem.ranks = ranks;
  problem.chunks = chunks;
  return {};
}

Result<PlainSchedule> scheduleOfFile(const ScheduleFlags &flags) {
  if (Status status = refuseSearchFlags(flags); !status)
    return status.error();
  if (!flags.group.empty())
    return Error{"--group is for a generator, not for '" + flags.schedule +
                 "'"};
  Result<std::string> text = readTextFile(flags.schedule);
  if (!text)
    return text.error();
  Result<TorchCsv> file = readTorchCsv(*text);
  if (!file)
    return Error{"'" + flags.schedule + "', " + file.error().message};
  PlainSchedule plain;
  plain.name = flags.schedule.substr(flags.schedule.rfind('/') + 1);
  plain.schedule = std::move(file->schedule);
  Status status = takeFileShape(flags, plain.schedule, plain.problem);
  if (status) {
    plain.hasPlacement = findPlacement(plain.schedule, plain.problem);
    status = takePlacement(flags, plain.hasPlacement, plain.problem);
  }
  if (status)
    status = readCosts(flags, plain.problem);
  if (!status)
    return status.error();
  plain.problem.forwardOnly |= !hasBackward(plain.schedule);
  status = finish(plain);
  if (status && file->hasTransfers)
    status = verify(file->lists);
  if (!status) {
    Error error{"'" + flags.schedule + "': " + status.error().message,
                status.error().notes};
    if (flags.microbatches.empty())
      error.notes.push_back(
          (plain.problem.microbatches == 1
               ? "there is 1 microbatch"
               : "there are " + std::to_string(plain.problem.microbatches) +
                     " microbatches") +
          std::string(" because of ") + file->lastMicrobatch +
          "; give --microbatches if that is wrong");
    return error;
  }
  return plain;
}

} // namespace stagewright
