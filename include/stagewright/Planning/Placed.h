//===- Placed.h - several stages on every device ------------*- C++ -*-===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Plans for the schedules that put several stages on a device, or a stage on
// two (Scheduling/Placement.h), and the bridge from a plan to what a schedule
// has to cope with. Rank r is the r-th device in the order of the stages' first
// devices; further devices, of replicas that take microbatches in turn, have
// the ranks behind. Cuts are compared by timeSchedule(), to which transfers are
// delays that occupy nobody; plans have the time of simulatePipeline().
//
//===----------------------------------------------------------------------===//

#ifndef STAGEWRIGHT_PLANNING_PLACED_H
#define STAGEWRIGHT_PLANNING_PLACED_H

#include "stagewright/Planning/Evaluate.h"
#include "stagewright/Scheduling/Gangs.h"
#include "stagewright/Scheduling/Generators.h"
#include "stagewright/Scheduling/ScheduleProblem.h"
#include "stagewright/Support/Packing.h"
#include <optional>

namespace stagewright {

/// Where the stages of a pipeline lie.
struct StagePlacement {
  Placement placement = Placement::Linear;
  int64_t ranks = 1, chunks = 1; ///< Twins: one chunk.
  int64_t spare = 0;             ///< Last ranks without a last chunk (Loop).

  int64_t numStages() const {
    return stagewright::numStages(placement, ranks, chunks, spare);
  }
};

/// Whether `generator` is defined for stages that lie like this; with one chunk
/// per rank, or one rank, linear, loop and v are the same.
bool fits(const Generator &generator, const StagePlacement &where);

/// What stages `generator` is for and how to get them: "zbv wants 2 chunks per
/// device placed v: partition with chunks=2 placement=v".
std::string demandOf(const Generator &generator);

/// What `generator` is asked for with the costs of `problem`; the mean hop over
/// the mean forward is the ratio. Only one that searches gets the costs.
ScheduleShape shapeOf(const Generator &generator,
                      const ScheduleProblem &problem);

/// The placement of stages whose ranks are these, by stage: `ranks` of one
/// stage are one rank, or two under Twin. The error names a stage that lies as
/// no placement says.
Result<StagePlacement>
placementOf(const std::vector<std::vector<int64_t>> &ranks);

/// What `generator` makes for the pipeline of `gangs`, on all of the ranks of
/// its stages, several pipelines side by side among them; `shape` says
/// microbatches, group and whether there are backwards. No generator is told of
/// hops or costs, so one that searches will not do.
Result<Schedule> generateInGangs(const Generator &generator, const Gangs &gangs,
                                 ScheduleShape shape,
                                 const ReplicaRanks &ofStages);

/// What a schedule of `stages` has to cope with: seconds of the slower device
/// where a stage has two, hops of everything that goes from a stage to the
/// next, bytes that a stage holds for a microbatch in flight. `memory` is what
/// the rank with the least has left for them; ranks with more see their bytes
/// scaled down, so that one limit is right for all. The error names a rank that
/// has nothing left.
Result<ScheduleProblem> scheduleProblemOf(const Problem &problem,
                                          const Network &network,
                                          const std::vector<StagePlan> &stages,
                                          const StagePlacement &where);

/// Bytes of every device (by its number) that runs `schedule`: what its stages
/// hold once, and for each the microbatches in flight there. Stages of one rank
/// share the bytes of their stashes: with a packer as programs have them, else
/// without any loss, which is quicker to find.
std::vector<Bytes> memoryOf(const Problem &problem,
                            const std::vector<StagePlan> &stages,
                            const StagePlacement &where,
                            const Schedule &schedule, LifePacker *packer);

/// What planPlaced() is asked for beside the problem.
struct PlacedRequest {
  StagePlacement where; ///< Of one pipeline.
  /// Generators to choose from; those that do not fit are passed over.
  std::vector<Generator> generators;
  /// Pipelines side by side, which take microbatches in turn: rank r of all of
  /// them lies on devices r * pipelines and behind.
  int64_t pipelines = 1;
};

/// Cuts the chain into the stages of a placement on the first devices of the
/// cluster. Starts from the cut whose largest stage is smallest (the dynamic
/// program of planBalance), then moves single cuts by single layers for as long
/// as the simulated time of the fastest schedule drops; memory is respected.
/// Not exact: the loads of stages that share a rank add up, which a dynamic
/// program over the chain does not see. Time O(rounds * stages * actions).
Result<Plan> planPlaced(const Problem &problem, const PlacedRequest &request);

/// Schedules and placements to choose from.
struct PlacedFamily {
  std::vector<Generator> generators;
  int64_t chunks = 0;                 ///< Of each device; 0: any number.
  std::optional<Placement> placement; ///< None: any that a generator is for.
};

/// The best plan of a family that is found: for every number of devices of a
/// pipeline, of stages on each and of pipelines side by side the even cut is
/// timed, the most promising first, and the best ones are improved. On unequal
/// devices one pipeline only.
Result<Plan> planPlaced(const Problem &problem, const PlacedFamily &family);

/// A plan as the simulator takes it.
struct ScheduledPlan {
  PipelineModel model;
  Schedule schedule;
  std::vector<size_t> devices; ///< By rank.
};

/// What `plan` runs in the order of its schedule, with all replicas; fills what
/// pipelineOf() does.
Result<ScheduledPlan> scheduled(const Problem &problem, const Network &network,
                                Plan &plan);

/// evaluate() for a plan that is timed in the order of `generator`: its stages
/// may share devices, and replicas take whole microbatches in turn.
Status evaluatePlaced(const Problem &problem, const Network &network,
                      const Generator &generator, Plan &plan);

/// `plan` in the order that a search finds for its stages in their memory
/// (generateSearched), where that is faster by what is worth it, else as it is.
Plan withSearchedOrder(const Problem &problem, Plan plan);

/// Whether the devices of `plan`, whose schedule is named, hold what that
/// keeps.
Status verifyPlaced(const Problem &problem, const Plan &plan);

/// Times `plan`'s stages, each with devices of its own, in the order of
/// `generator`; fails where that does not fit in memory.
Status retime(const Problem &problem, const Generator &generator, Plan &plan);

} // namespace stagewright

#endif // STAGEWRIGHT_PLANNING_PLACED_H
