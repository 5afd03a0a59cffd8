//===- Planners.h - planners by name ----------------------------*- C++ -*-===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// This header lists the planners, each a function; lib/Planning has a folder or
// a file for each. Published and simple planners that Stagewright's own do not
// use are in Baselines/Baselines.h. All take a problem that passes check() and
// return an evaluated plan that passes verify(), or an error that names the
// constraint that cannot be met and by how much.
//
//===----------------------------------------------------------------------===//

#ifndef STAGEWRIGHT_PLANNING_PLANNERS_H
#define STAGEWRIGHT_PLANNING_PLANNERS_H

#include "stagewright/Cost/Network.h"
#include "stagewright/Planning/Plan.h"
#include <functional>
#include <span>

namespace stagewright {

/// Partition, replication, mapping and execution order of synchronous training
/// on arbitrary links, by the method of SPP: lists of devices from recursive
/// minimum cuts (DeviceOrder.h); for each list a dynamic program from the last
/// layer over layers and devices, for several objectives (the bottleneck, the
/// plan's own lower bound, and the least time to fill and drain the pipeline
/// with no load above a cap). Plans whose lower bound is below the best time
/// are simulated in every execution order. Stages that do not fit in memory
/// recompute or offload, or their replicas get other shares. On small clusters
/// the plans of DAPPLE and PipeDream are simulated too. Ties: fewer stages,
/// earlier cuts, narrower stages, lower devices. Time O(S L V^3) per list for S
/// stages, L layers and V devices; see docs/planner.md.
///
/// Source: Luo et al., "Efficient Pipeline Planning for Expedited Distributed
/// DNN Training" (INFOCOM 2022), as specified in docs/planner.md.
Result<Plan> planSpp(const Problem &problem);

/// The same, but if no plan fits in memory, the error does not say how much is
/// missing, which takes up to 56 runs of the dynamic program to find.
Result<Plan> planSppBriefly(const Problem &problem);

/// The error of planSpp() for a problem for which planSppBriefly() fails.
Error whyNoPlan(const Problem &problem);

/// The best plan found for all schedules of Generators.h except those of
/// placement Twin, with any number of stages on each device and of pipelines
/// side by side (Placed.h).
Result<Plan> planPlaced(const Problem &problem);

/// Whether a plan of planPlaced() that takes `placed` is preferred to one that
/// takes `plain`: it must save 0.5 %, because its artifact runs only with one
/// number of microbatches.
inline bool savesEnough(Seconds placed, Seconds plain) {
  constexpr double kLeastSaved = 0.005;
  return placed < plain * (1 - kLeastSaved);
}

/// The plan of planPlaced() if it savesEnough(), else that of planSpp(), with a
/// searched order if that saves enough. If stages, a number of stages or
/// offload=all are requested, only planSpp() is used, so that every stage has
/// devices of its own.
Result<Plan> planAuto(const Problem &problem);

/// The same with the errors of planSppBriefly().
Result<Plan> planAutoBriefly(const Problem &problem);

/// Cuts the chain into `stages` stages (default: as many as devices, or layers
/// if these are fewer) with the least max load of a stage or cut, by an exact
/// dynamic program. The load of a stage is its F + I + W, that of a cut the
/// transfer time of all values across it, both ways. Stage s is on device s,
/// without replicas. Of equal optima it takes the one with the least sum over
/// the stages of the square of the larger load: of the stage or of the cut
/// before it. Time O(S L^2).
///
/// Source: the chains-on-chains partitioning problem (Bokhari 1988).
Result<Plan> planBalance(const Problem &problem);

/// PipeDream's hierarchical dynamic program with the formulas of its paper:
/// all-reduce overlapped with compute. Minimises the bottleneck, the seconds of
/// the slowest stage or transfer per microbatch. If all hosts have equally many
/// devices and replicas are not limited, there are two levels, the devices of a
/// host and the hosts; else one level with all devices. A graph of too many
/// antichains is treated as a chain. Time O(N^3 d^2 + N^2 h^2) for N
/// antichains, d devices a host, h hosts.
///
/// Source: Narayanan et al., PipeDream, SOSP 2019; PipeDream.h.
Result<Plan> planPipeDream(const Problem &problem);

/// The same with the formulas of the published optimizer (PipeDream.h):
/// all-reduce is added to compute, and m replicas send 4 (m - 1) / m instead of
/// 2 (m - 1) times the bytes of their parameters.
Result<Plan> planPipeDreamCode(const Problem &problem);

/// The plan in Problem::fixedPlan, as JSON or as ranges of layers with their
/// replicas, "[0,19)x15 [19,26)x1". The suffix "r" makes a stage recompute;
/// "[0,19)@d0+d3" names its devices; ":3+1" after either sets the samples of
/// each replica, which otherwise follow from its speed. Stages without named
/// devices take the next ones in the order of recursive device ordering
/// (DeviceOrder.h) or its reverse, whichever is faster. Simulated in the
/// allowed orders; a plan in JSON in the schedule that it names or, if all
/// orders are allowed, in the order that it states.
Result<Plan> planFixed(const Problem &problem);

/// The effort of refine().
struct RefineOptions {
  /// Max work: the blocks of compute and transfers that are simulated plus the
  /// layers and values that are visited, over all plans. The default takes some
  /// seconds.
  int64_t work = 50'000'000;
  /// Max number of slightly worse moves that are tried if no move helps, each
  /// followed by moves of layers.
  size_t secondMoves = 24;
};

/// `start`, or a faster plan found from it by moves. A move shifts layers
/// across a cut, gives devices of one stage to another, splits or merges
/// stages, changes recomputation, or moves layers to stages that share devices
/// (a tied embedding to the last stage). Takes the best move of the stage with
/// the most work, or else of the next one. If no move helps, tries a slightly
/// worse one followed by moves of layers. Changes are kept only if the
/// simulated time falls and memory suffices, so the plan is never slower than
/// `start`. The explanation lists the moves and the number of simulated plans.
///
/// Source: Aceso's bottleneck alleviation (Liu et al., EuroSys 2024).
Result<Plan> refine(const Problem &problem, const Network &network,
                    const Plan &start, const RefineOptions &options = {});

/// The plan of planner `start`, refined.
Result<Plan> refineFrom(Result<Plan> (*start)(const Problem &),
                        const Problem &problem);
template <Result<Plan> (*start)(const Problem &)>
Result<Plan> planRefined(const Problem &problem) {
  return refineFrom(start, problem);
}

/// The plan of `spp`, refined.
Result<Plan> planRefine(const Problem &problem);
/// DAPPLE's search: stages from the front, placed by three policies, ranked by
/// the latency L with pivot, with the stage costs of Evaluate.h (transfers with
/// equal slices). Minimises L; if the plan of least L does not fit in memory,
/// returns the best of the kept plans that does. Time O(states N G), see
/// Dapple.h; 96 layers on 32 devices take seconds.
///
/// Source: Fan et al., DAPPLE, PPoPP 2021, sections 4 and 5; Dapple.h.
Result<Plan> planDapple(const Problem &problem);

/// A planner: a named function from a problem to a plan.
struct Planner {
  const char *name;    ///< As in `planner=`.
  const char *summary; ///< One line for --help.
  Result<Plan> (*plan)(const Problem &problem);
};

/// Runs check() and `plan`, sets the bound of the plan's family, and runs
/// verify(); used by tools and passes.
Result<Plan>
runPlanner(const Problem &problem,
           const std::function<Result<Plan>(const Problem &)> &plan);
inline Result<Plan> runPlanner(const Planner &planner, const Problem &problem) {
  return runPlanner(problem, planner.plan);
}

/// Adds copies of `planners` to those that findPlanner() knows. Their strings
/// are not copied and must outlive all uses of these planners. Planners without
/// a summary are not listed. Not thread-safe.
void addPlanners(std::span<const Planner> planners);

/// All listed planners, the default one first.
std::vector<Planner> allPlanners();

/// The planner called `name`; the error lists the known ones. "refine:balance"
/// refines the plan of `balance` instead of spp's.
Result<Planner> findPlanner(std::string_view name);

} // namespace stagewright

#endif // STAGEWRIGHT_PLANNING_PLANNERS_H
