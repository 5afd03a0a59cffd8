//===- ChooseSchedule.cpp - the schedule of a program ---------------------===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ChooseSchedule.h"
#include "stagewright/Analysis/PlanData.h"
#include "stagewright/Analysis/ScheduleData.h"
#include "stagewright/Scheduling/Replicas.h"

namespace stagewright::pipeline {

/// The shape for `generator` on `program`. Few generators use costs, so a graph
/// without costs is accepted.
static FailureOr<ScheduleShape> shapeFor(ProgramOp program,
                                         const Generator &generator,
                                         const StagePlacement &where) {
  GraphOp graph = graphOf(program);
  if (hasCosts(graph)) {
    FailureOr<ScheduleProblem> costs = scheduleProblemOf(program);
    if (failed(costs))
      return failure();
    return shapeOf(generator, *costs);
  }
  ScheduleShape shape;
  shape.ranks = where.ranks;
  shape.chunks = where.chunks;
  shape.spare = where.spare;
  shape.microbatches = program.getMicrobatches();
  shape.forwardOnly = isForwardOnly(graph);
  return shape;
}

FailureOr<Schedule> generateFor(ProgramOp program, const Generator &generator,
                                int64_t group) {
  ReplicaRanks ranks = ranksOfStages(program);
  if (GangStages stated = gangStagesOf(program);
      !stated.empty() && stated.front()) {
    ScheduleShape shape;
    shape.microbatches = program.getMicrobatches();
    shape.forwardOnly = isForwardOnly(graphOf(program));
    shape.group = group;
    Result<Schedule> made = generateInGangs(generator, ranks, stated, shape);
    if (!made)
      return emitError(program.getLoc()) << made.error().message;
    return *made;
  }
  FailureOr<StagePlacement> where = placementOf(program);
  if (failed(where))
    return failure();
  if (!fits(generator, *where))
    return emitError(program.getLoc())
           << demandOf(generator) << "; @" << program.getSymName() << " has "
           << where->chunks << " per device, placed "
           << toString(where->placement);
  FailureOr<ScheduleShape> shape = shapeFor(program, generator, *where);
  if (failed(shape))
    return failure();
  shape->group = group;
  Result<Schedule> made = hasReplicas(program)
                              ? generateInTurn(generator, *shape, ranks)
                              : generator.generate(*shape);
  if (!made)
    return emitError(program.getLoc()) << made.error().message;
  return *made;
}

/// If there are several parallel pipelines, searches for an order of each. Else
/// searches for one order in which all replicas of a stage are one rank, and
/// deals its actions out to the replicas.
static Result<Schedule> searchInTurn(const MakeSchedule &search,
                                     int64_t microbatches,
                                     const ReplicaRanks &ranks) {
  if (pipelinesOf(ranks) > 1)
    return sideBySide(search, microbatches, ranks);
  Result<Schedule> found = search(microbatches);
  return found ? dealInTurn(*found, ranks) : found;
}

FailureOr<Schedule> searchFor(ProgramOp program, AutoScheduleOptions options) {
  FailureOr<ScheduleProblem> problem = scheduleProblemOf(program);
  if (failed(problem))
    return failure();
  options.split &= !hasWholeBackward(graphOf(program));
  auto search = [&](int64_t microbatches) -> Result<Schedule> {
    problem->microbatches = microbatches;
    Result<AutoSchedule> found = findSchedule(*problem, options);
    if (!found)
      return found.error();
    emitRemark(program.getLoc())
        << "auto: " << describe(found->timing, found->bounds, found->placement)
        << "; from " << found->origin << toText(found->optimality);
    found->schedule.kind = "auto";
    return found->schedule;
  };
  int64_t microbatches = problem->microbatches;
  Result<Schedule> found =
      hasReplicas(program)
          ? searchInTurn(search, microbatches, ranksOfStages(program))
          : search(microbatches);
  if (!found)
    return emitError(program.getLoc())
           << found.error().message
           << "; memory is in bytes, without parameters, gradients and inputs";
  return *found;
}

/// Checks that stages of `program` are placed as those of `schedule`, and that
/// both have as many microbatches.
static LogicalResult checkFits(ProgramOp program, const Schedule &schedule) {
  auto microbatches = int64_t(program.getMicrobatches());
  if (schedule.microbatches != microbatches)
    return emitError(program.getLoc())
           << "the orders are for " << schedule.microbatches
           << " microbatches, @" << program.getSymName() << " has "
           << microbatches
           << "; partition with microbatches=" << schedule.microbatches;
  FailureOr<StagePlacement> wanted = placementOf(program.getLoc(), schedule);
  FailureOr<StagePlacement> where = placementOf(program);
  if (failed(wanted) || failed(where))
    return failure();
  auto describe = [](const StagePlacement &p) {
    return std::to_string(p.ranks) + " devices of " + std::to_string(p.chunks) +
           " stages placed " + toString(p.placement) +
           (p.spare == 0 ? ""
                         : ", one less on the last " + std::to_string(p.spare));
  };
  if (wanted->ranks != where->ranks || wanted->chunks != where->chunks ||
      wanted->placement != where->placement || wanted->spare != where->spare)
    return emitError(program.getLoc())
           << "the orders are for " << describe(*wanted) << ", @"
           << program.getSymName() << " has " << describe(*where);
  return success();
}

FailureOr<Schedule> takeGiven(ProgramOp program, const Schedule &schedule) {
  if (failed(checkFits(program, schedule)))
    return failure();
  return hasReplicas(program) ? dealInTurn(schedule, ranksOfStages(program))
                              : schedule;
}

LogicalResult checkHalves(ProgramOp program, const Schedule &schedule) {
  if (splitsBackward(schedule) && hasWholeBackward(graphOf(program)))
    return emitError(program.getLoc())
           << "'" << schedule.kind << "' runs the halves of a backward apart, "
           << "@" << graphOf(program).getSymName()
           << " has made them one; leave out pipeline-merge-backward";
  return success();
}

} // namespace stagewright::pipeline
