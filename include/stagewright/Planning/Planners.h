//===- Planners.h - planners by name ----------------------------*- C++ -*-===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Each algorithm is one function in a file of its own under lib/Planning; this
// header is the list of them. All take a problem that passes check() and return
// an evaluated plan that passes verify(), or an error that names the constraint
// that cannot be met and by how much.
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
/// layer over layers and devices, for several objectives (bottleneck, the
/// plan's own lower bound, least fill under a cap of the loads). Plans whose
/// lower bound is below the best time are simulated in every execution order.
/// Stages that do not fit in memory recompute. On small clusters the plans of
/// DAPPLE and PipeDream are simulated too. Ties: fewer stages, earlier cuts,
/// narrower stages, lower devices. Time O(S L V^3) per list; docs/planner.md.
///
/// Source: Luo et al., "Efficient Pipeline Planning for Expedited Distributed
/// DNN Training" (INFOCOM 2022), as specified in docs/planner.md.
Result<Plan> planSpp(const Problem &problem);

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

/// The better of planSpp() and planPlaced(). If stages, or a number of them,
/// are requested, each is on its own devices, and the plan is that of
/// planSpp().
Result<Plan> planAuto(const Problem &problem);

/// Cuts the chain into `stages` stages (default: as many as devices) with the
/// least max load of a stage or cut, by an exact dynamic program. The load of a
/// stage is its F + I + W, that of a cut the transfer time of all values across
/// it, both ways. Stage s is on device s, without replicas. Of equal optima it
/// takes the one with the least sum of squared loads. Time O(S L^2).
///
/// Source: the chains-on-chains partitioning problem (Bokhari 1988).
Result<Plan> planBalance(const Problem &problem);

/// Contiguous stages (no path leaves one and comes back) of any acyclic graph,
/// one device each, with the least max load; branches may be parallel stages.
/// The load of a stage is the seconds of its F, I and W and of every value that
/// enters or leaves it, each once. Exact: a dynamic program over the down-sets
/// of the forward graph; of equal optima it takes the one with the least sum of
/// squared loads. If links are unequal, devices are in RDO's order or its
/// reverse, and a value costs the time of the slower adjacent link. Fails for
/// graphs of more than 200,000 down-sets.
///
/// Source: Tarnawski et al., "Efficient algorithms for device placement of DNN
/// graph operators" (NeurIPS 2020).
Result<Plan> planIdealDp(const Problem &problem);

/// The same along one depth-first topological order of the layers ("DPL"):
/// O(L^2) loads; not exact for graphs with branches.
Result<Plan> planIdealDpLinear(const Problem &problem);
/// PipeDream's hierarchical dynamic program with the formulas of its paper:
/// all-reduce overlapped with compute. Minimises the bottleneck, the seconds of
/// the slowest stage or transfer per microbatch. Levels are the devices of a
/// host and the hosts, if all hosts are equal and replicas are not limited, or
/// else one of all devices. A graph of too many antichains is taken as a chain.
/// Time O(N^3 d^2 + N^2 h^2) for N antichains, d devices a host, h hosts.
///
/// Source: Narayanan et al., PipeDream, SOSP 2019; PipeDream.h.
Result<Plan> planPipeDream(const Problem &problem);

/// The same with the formulas of the published optimizer: all-reduce is added
/// to compute, and has twice the bytes.
Result<Plan> planPipeDreamCode(const Problem &problem);

/// planIdealDp() after merging all layers between a fork and its join into one,
/// as PipeDream does (biconnected components of the graph of forward and
/// backward nodes): the baseline "pipeDream" in the program of Tarnawski et al.
Result<Plan> planBranchDp(const Problem &problem);

/// Starts from planIdealDp's plan and lets a device run several stages that are
/// not adjacent, which is better if the whole decoder uses an encoder's values:
/// simulated annealing on the loads with ten restarts, then the best moves and
/// exchanges of layers until none lowers the max load. Of loads within 0.1 % of
/// the least it takes the plan with the shortest simulated step. Deterministic;
/// the seed is in the explanation. The load is at most 0.1 % above that of the
/// start. Chooses the number of stages itself.
///
/// Source: the local search baseline of Tarnawski et al., NeurIPS 2020.
Result<Plan> planLocalSearch(const Problem &problem);

/// Piper's plan: stages of contiguous layers (differences of downsets of the
/// graph), each on d replicas of t tensor-parallel devices, with one of its
/// alternatives chosen for each layer, to minimise the max time per sample of a
/// stage; memory counts the samples in flight. Exact except for the choice of
/// alternatives, which is Piper's heuristic. Graphs of more than 1,500 downsets
/// are searched as chains. Replicas divide the microbatches.
///
/// Piper models one kind of device and one bandwidth: the slowest device, the
/// smallest memory and the slowest pair of the cluster are used for all. Layers
/// without alternatives may run as they are or with recomputation.
///
/// `value` is Piper's time per sample of an asynchronous pipeline; `time` is
/// that of one step with a flush, simulated with a group of t devices as one
/// processor that takes the time of the chosen alternatives.
///
/// Source: Tarnawski, Narayanan, Phanishayee: Piper, NeurIPS 2021; values equal
/// those of the published program.
Result<Plan> planPiper(const Problem &problem);

/// The time per sample of `plan` by Piper's model; the error names a stage that
/// does not fit.
Result<double> timePerSample(const Problem &problem, const Network &network,
                             const Plan &plan);

/// The plan in Problem::fixedPlan, as JSON or as ranges of layers with their
/// replicas, "[0,19)x15 [19,26)x1". The suffix "r" makes a stage recompute;
/// "[0,19)@d0+d3" names its devices; ":3+1" after either sets the samples of
/// each replica, which otherwise follow from its speed. Stages without named
/// devices take the next ones of RDO's order or its reverse, whichever is
/// faster. Simulated in the allowed orders; for JSON, in the order it states.
Result<Plan> planFixed(const Problem &problem);

/// The effort of refine().
struct RefineOptions {
  /// Max number of simulated blocks of compute and transfers, and of visited
  /// layers and values, over all plans: some seconds.
  int64_t work = 50'000'000;
  /// Max number of slightly worse moves after which moves of layers are tried.
  size_t secondMoves = 24;
};

/// `start`, or a faster plan found from it by moves. A move shifts layers
/// across cuts or devices between stages, splits or merges stages, changes
/// recomputation, or moves layers to stages that share devices (a tied
/// embedding to the last stage). Takes the best move of the stage with the most
/// work, or else of the next one. If no move helps, tries a slightly worse one
/// followed by moves of layers. Changes are kept only if the simulated time
/// falls and memory suffices, so the plan is never slower than `start`. The
/// explanation lists the moves and the number of simulated plans.
///
/// Source: Aceso's bottleneck alleviation (Liu et al., EuroSys 2024).
Result<Plan> refine(const Problem &problem, const Network &network,
                    const Plan &start, const RefineOptions &options = {});

/// The plan of planner `start`, refined.
Result<Plan> refineFrom(Result<Plan> (*start)(const Problem &),
                        const Problem &problem);

/// The plan of `spp`, refined.
Result<Plan> planRefine(const Problem &problem);
/// DAPPLE's search: stages from the front, placed by three policies, ranked by
/// the latency L with pivot, with the stage costs of Evaluate.h (equal slices).
/// Minimises L; if the plan of least L does not fit in memory, returns the best
/// of the kept plans that does. Time O(states * N * G), Dapple.h; 96 layers on
/// 32 devices take seconds.
///
/// Source: Fan et al., DAPPLE, PPoPP 2021, sections 4 and 5; Dapple.h.
Result<Plan> planDapple(const Problem &problem);

/// Alpa's stage dynamic program with the stage costs of Evaluate.h in equal
/// slices on the slowest device class and the all-reduce spread over the
/// microbatches. Minimises sum t + (M - 1) max t; all devices are used; hosts
/// of unequal size, or not of a power of two, count as hosts of one device.
///
/// Source: Zheng et al., Alpa, OSDI 2022, section 5; Alpa.h.
Result<Plan> planAlpa(const Problem &problem);

/// torchgpipe's balance by time: stage s on device s, similar block sums. The
/// weakest baseline; its value is the spread of the stages' seconds.
///
/// Source: BlockPartition.h.
Result<Plan> planBlockPartition(const Problem &problem);

/// One device per stage and one stage per device, with the least time of the
/// slowest stage; ignores transfers.
Result<Plan> planStraight(const Problem &problem);

/// One stage on all devices.
Result<Plan> planDataParallel(const Problem &problem);

/// A planner: a named function from a problem to a plan.
struct Planner {
  const char *name;    ///< As in `planner=`.
  const char *summary; ///< One line for --help.
  Result<Plan> (*plan)(const Problem &problem);
};

/// Runs check(), `plan`, the bound over all plans and verify(); used by
/// tools and passes.
Result<Plan>
runPlanner(const Problem &problem,
           const std::function<Result<Plan>(const Problem &)> &plan);
inline Result<Plan> runPlanner(const Planner &planner, const Problem &problem) {
  return runPlanner(problem, planner.plan);
}

/// All planners, the default one first.
std::span<const Planner> allPlanners();

/// The planner called `name`; the error lists the known ones. "refine:balance"
/// refines the plan of `balance` instead of spp's.
Result<Planner> findPlanner(std::string_view name);

} // namespace stagewright

#endif // STAGEWRIGHT_PLANNING_PLANNERS_H
