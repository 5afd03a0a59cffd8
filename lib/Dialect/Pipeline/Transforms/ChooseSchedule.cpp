//===- ChooseSchedule.cpp - where a program's orders come from
//-------------===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ChooseSchedule.h"
#include "stagewright/Analysis/PlanData.h"
#include "stagewright/Scheduling/TorchCsv.h"
#include "stagewright/Support/Files.h"
#include "llvm/Support/FormatVariadic.h"
#include <algorithm>

using namespace mlir;

namespace stagewright::pipeline {

/// What a generator is asked for on `program`. Costs matter to few of them, so
/// that a graph without costs is fine.
static FailureOr<ScheduleShape> shapeFor(ProgramOp program,
                                         const StagePlacement &where) {
  GraphOp graph = graphOf(program);
  if (hasCosts(graph)) {
    FailureOr<ScheduleProblem> costs = scheduleProblemOf(program);
    if (failed(costs))
      return failure();
    return shapeOf(*costs);
  }
  ScheduleShape shape;
  shape.ranks = where.ranks;
  shape.chunks = where.chunks;
  shape.microbatches = program.getMicrobatches();
  shape.forwardOnly = isForwardOnly(graph);
  return shape;
}

FailureOr<Schedule> generateFor(ProgramOp program, const Generator &generator,
                                int64_t group) {
  FailureOr<StagePlacement> where = placementOf(program);
  if (failed(where))
    return failure();
  if (!fits(generator, *where))
    return emitError(program.getLoc())
           << demandOf(generator) << "; @" << program.getSymName() << " has "
           << where->chunks << " per device, placed "
           << toString(where->placement);
  FailureOr<ScheduleShape> shape = shapeFor(program, *where);
  if (failed(shape))
    return failure();
  shape->group = group;
  Result<Schedule> made = generator.generate(*shape);
  if (!made)
    return emitError(program.getLoc()) << made.error().message;
  return *made;
}

/// "makespan 27 us, at least 26 us placed linear (fill and drain of rank 0):
/// gap 1.10 %".
static std::string describe(const char *what, Seconds value,
                            const LowerBound &bound, Placement placement) {
  double gap = bound.value.value > 0
                   ? 100 * std::max(value.value / bound.value.value - 1, 0.0)
                   : 0;
  return llvm::formatv("{0} {1}, at least {2} placed {3} ({4}, rank {5}): gap "
                       "{6:F2} %",
                       what, precisely(value), precisely(bound.value),
                       toString(placement), bound.reason, bound.rank, gap);
}

FailureOr<Schedule> searchFor(ProgramOp program, AutoScheduleOptions options) {
  FailureOr<ScheduleProblem> problem = scheduleProblemOf(program);
  if (failed(problem))
    return failure();
  options.split &= !hasWholeBackward(graphOf(program));
  Result<AutoSchedule> found = findSchedule(*problem, options);
  if (!found)
    return emitError(program.getLoc())
           << found.error().message
           << "; memory is in bytes, beside parameters, gradients and inputs";
  Seconds work =
      *std::max_element(found->timing.work.begin(), found->timing.work.end());
  emitRemark(program.getLoc())
      << "auto: "
      << describe("makespan", found->timing.makespan, found->bounds.makespan,
                  found->placement)
      << "; "
      << describe("span", found->timing.span, found->bounds.span,
                  found->placement)
      << "; work of the busiest rank " << precisely(work) << "; from "
      << found->origin << (found->optimal ? ", optimal" : "");
  found->schedule.kind = "auto";
  return found->schedule;
}

FailureOr<Schedule> readCsv(Location loc, StringRef path) {
  Result<std::string> text = readTextFile(path.str());
  if (!text)
    return emitError(loc) << text.error().message;
  Result<TorchCsv> csv = readTorchCsv(*text);
  if (!csv)
    return emitError(loc) << path << ": " << csv.error().message;
  Schedule schedule = std::move(csv->schedule);
  auto firstStage = [](const Order &order) {
    int64_t first = order.front().stage;
    for (const Action &action : order)
      first = std::min(first, action.stage);
    return first;
  };
  std::stable_sort(schedule.ranks.begin(), schedule.ranks.end(),
                   [&](const Order &a, const Order &b) {
                     return firstStage(a) < firstStage(b);
                   });
  return schedule;
}

FailureOr<StagePlacement> placementOf(Location loc, const Schedule &schedule) {
  std::vector<std::vector<int64_t>> ranks(schedule.stages);
  for (auto [rank, order] : llvm::enumerate(schedule.ranks))
    for (const Action &action : order)
      if (!llvm::is_contained(ranks[action.stage], int64_t(rank)))
        ranks[action.stage].push_back(int64_t(rank));
  // Twins: the first of a stage's ranks is the one of its number.
  for (auto [stage, of] : llvm::enumerate(ranks))
    if (auto first = llvm::find(of, int64_t(stage)); first != of.end())
      std::rotate(of.begin(), first, first + 1);
  Result<StagePlacement> where = stagewright::placementOf(ranks);
  if (!where)
    return emitError(loc) << where.error().message;
  return *where;
}

bool splitsBackward(const Schedule &schedule) {
  for (const Order &order : schedule.ranks)
    for (const Action &action : order)
      if (action.kind == ActionKind::InputGradient ||
          action.kind == ActionKind::WeightGradient)
        return true;
  return false;
}

LogicalResult checkFits(ProgramOp program, const Schedule &schedule) {
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
           " stages placed " + toString(p.placement);
  };
  if (wanted->ranks != where->ranks || wanted->chunks != where->chunks ||
      wanted->placement != where->placement)
    return emitError(program.getLoc())
           << "the orders are for " << describe(*wanted) << ", @"
           << program.getSymName() << " has " << describe(*where);
  if (splitsBackward(schedule) && hasWholeBackward(graphOf(program)))
    return emitError(program.getLoc())
           << "'" << schedule.kind << "' runs the halves of a backward apart, "
           << "@" << graphOf(program).getSymName()
           << " has made them one; leave out pipeline-merge-backward";
  return success();
}

} // namespace stagewright::pipeline
