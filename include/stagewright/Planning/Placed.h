//===- Placed.h - several stages on every device ----------------*- C++ -*-===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Plans for schedules that put several stages on a device, or a stage on two
// (Scheduling/Placement.h), and the conversion of a plan to a ScheduleProblem.
// Rank r is the r-th device in the order of the stages' first devices; other
// devices, of replicas that take microbatches in turn, have the ranks after
// these. Cuts are compared by timeSchedule(), which models transfers as delays
// that occupy no resource; plans are timed by simulatePipeline().
//
//===----------------------------------------------------------------------===//

#ifndef STAGEWRIGHT_PLANNING_PLACED_H
#define STAGEWRIGHT_PLANNING_PLACED_H

#include "stagewright/Planning/Evaluate.h"
#include "stagewright/Scheduling/Gangs.h"
#include "stagewright/Scheduling/Generators.h"
#include "stagewright/Scheduling/ScheduleProblem.h"
#include "stagewright/Scheduling/Timing.h"
#include <optional>

namespace stagewright {

/// The placement of the stages of a pipeline on its ranks.
struct StagePlacement {
  Placement placement = Placement::Linear;
  int64_t ranks = 1, chunks = 1; ///< Twins: one chunk.
  /// Under Loop: how many of the last ranks have one chunk fewer.
  int64_t spare = 0;

  int64_t numStages() const {
    return stagewright::numStages(placement, ranks, chunks, spare);
  }
};

/// Whether `generator` is defined for this placement. With one chunk per rank,
/// or one rank, linear, loop and v are the same.
bool fits(const Generator &generator, const StagePlacement &where);

/// The stages that `generator` requires and how to get them: "zb-v wants 2
/// chunks per device placed v: partition with chunks=2 placement=v".
std::string demandOf(const Generator &generator);

/// The input of `generator` for `problem`; its hopRatio is the mean hop divided
/// by the mean forward. Only a generator that searches gets the costs.
ScheduleShape shapeOf(const Generator &generator,
                      const ScheduleProblem &problem);

/// The placement of stages with these ranks: by stage, one rank, or two under
/// Twin. The error names a stage that does not match any placement.
Result<StagePlacement>
placementOf(const std::vector<std::vector<int64_t>> &ranks);

/// The schedule of `generator` for the pipeline that the stages on `ranks` are
/// parts of, as `stated`, on all of these ranks, including several pipelines
/// side by side. Gangs are its ranks if they are placed as it requires. A
/// generator for one stage per rank can also run gangs that share ranks or
/// return (runMerged); one that goes by levels runs those of all stages in
/// turn. `shape` gives the microbatches, the group and whether there are
/// backwards. Hops and costs are not passed on, so a generator that searches
/// cannot be used.
Result<Schedule> generateInGangs(const Generator &generator,
                                 const ReplicaRanks &ranks,
                                 const GangStages &stated,
                                 const ScheduleShape &shape);

/// The scheduling problem of `stages`: seconds on the slower device if a stage
/// has two, hops for all values that go from a stage to the next, bytes that a
/// stage holds per microbatch in flight. `memory` is the min over ranks of the
/// bytes left for microbatches in flight; on ranks with more, the bytes of
/// stages are scaled down, so that one limit is correct for all. The error
/// names a rank that has no bytes left.
Result<ScheduleProblem> scheduleProblemOf(const Problem &problem,
                                          const Network &network,
                                          const std::vector<StagePlan> &stages,
                                          const StagePlacement &where);

/// The times of the actions of `stages`, on any ranks, and the delays of the
/// edges of `graph`: of all values that go between the two stages in one of the
/// two directions, whichever take longer; 0 for stages on the same devices.
StepTimes stepTimesOf(const Problem &problem, const Network &network,
                      const std::vector<StagePlan> &stages,
                      const StageGraph &graph);

/// Bytes of every device (by its number) that runs `schedule`: what its stages
/// hold once, and what each holds for its microbatches in flight. Stages of one
/// rank share the memory of their stashes; here they count as packed without
/// gaps, which is faster to compute.
std::vector<Bytes> memoryOf(const Problem &problem,
                            const std::vector<StagePlan> &stages,
                            const StagePlacement &where,
                            const Schedule &schedule);

/// The input of planPlaced() in addition to the problem.
struct PlacedRequest {
  StagePlacement where; ///< Of one pipeline.
  /// Generators to choose from; those that do not fit are skipped.
  std::vector<Generator> generators;
  /// Pipelines side by side, which take microbatches in turn: rank r of
  /// pipeline k is on device r * pipelines + k.
  int64_t pipelines = 1;
};

/// Cuts the chain into the stages of a placement on the first devices of the
/// cluster. Starts from evenCut(), then moves single cuts by single layers
/// while the simulated time of the fastest schedule falls; memory is respected.
/// Not exact: loads of stages that share a rank add up, which a dynamic program
/// over the chain cannot model. Time O(rounds * stages * actions).
Result<Plan> planPlaced(const Problem &problem, const PlacedRequest &request);

/// Schedules and placements to choose from.
struct PlacedFamily {
  std::vector<Generator> generators;
  int64_t chunks = 0;                 ///< Of each device; 0: any number.
  std::optional<Placement> placement; ///< None: any that a generator supports.
  int64_t leastRanks = 1;             ///< Min devices of a pipeline.
  int64_t pipelines = 0; ///< Side by side; 0: as many as there are devices for.
};

/// The best plan found in a family. A candidate is the even cut for one number
/// of devices of a pipeline and one of stages on each, with as many pipelines
/// side by side as fit. The most promising candidates are timed, and the best
/// of them are improved. On unequal devices it tries only one pipeline.
Result<Plan> planPlaced(const Problem &problem, const PlacedFamily &family);

/// The same, but leaves out shapes of pipelines whose bound is not below
/// `limit`, and even cuts that take at least 10 % more than `limit`. None if
/// any is left out and the others have no plan that is faster than `limit`.
Result<std::optional<Plan>> planPlacedBelow(const Problem &problem,
                                            const PlacedFamily &family,
                                            Seconds limit);

/// A lower bound on the time of all plans of a family; infinite if it has none.
Result<Seconds> placedFamilyBound(const Problem &problem,
                                  const PlacedFamily &family);

/// A plan as the input of the simulator.
struct ScheduledPlan {
  PipelineModel model;
  Schedule schedule;
  std::vector<size_t> devices; ///< By rank.
};

/// The input of the simulator for `plan` in the order of its schedule, with all
/// replicas. Fills the same parts of `plan` as pipelineOf().
Result<ScheduledPlan> scheduled(const Problem &problem, const Network &network,
                                Plan &plan);

/// evaluate() for a plan in the order of `generator`: its stages may share
/// devices, and replicas take whole microbatches in turn.
Status evaluatePlaced(const Problem &problem, const Network &network,
                      const Generator &generator, Plan &plan);

/// `plan` in the order that a search finds for its stages within their memory
/// (generateSearched) if savesEnough(), else `plan` unchanged.
Plan withSearchedOrder(const Problem &problem, Plan plan);

/// Checks that the memory of every device of `plan` suffices for the schedule
/// that plan.schedule names.
Status verifyPlaced(const Problem &problem, const Plan &plan);

/// Times `plan`'s stages, each on its own devices, in the order of `generator`;
/// fails if that does not fit in memory.
Status retime(const Problem &problem, const Generator &generator, Plan &plan);

} // namespace stagewright

#endif // STAGEWRIGHT_PLANNING_PLACED_H
