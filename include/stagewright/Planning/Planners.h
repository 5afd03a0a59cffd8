//===- Planners.h - planners by name ------------------------*- C++ -*-===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Each algorithm is one function in a file of its own under lib/Planning; this
// header is the list of them. All take a problem that passes check() and return
// a plan that passes verify() and is evaluated, or say which constraint cannot
// be met and by how much.
//
//===----------------------------------------------------------------------===//

#ifndef STAGEWRIGHT_PLANNING_PLANNERS_H
#define STAGEWRIGHT_PLANNING_PLANNERS_H

#include "stagewright/Cost/Network.h"
#include "stagewright/Planning/Plan.h"
#include <span>

namespace stagewright {

/// Partition, replication, mapping and execution order of synchronous training
/// on arbitrary links, by SPP's recipe: lists of devices by recursive minimum
/// cuts (DeviceOrder.h), for each a dynamic program from the tail over layers
/// and devices under several objectives (bottleneck, the plan's own lower
/// bound, least fill under a cap of the loads), every plan whose lower bound is
/// below the best time simulated in every execution order. Stages that do not
/// fit in memory recompute. On small clusters the plans of DAPPLE's search and
/// PipeDream's are simulated too. Ties: fewer stages, earlier cuts, narrower
/// stages, lower devices. Time O(S L V^3) for each list; docs/planner.md.
///
/// Source: Luo et al., "Efficient Pipeline Planning for Expedited Distributed
/// DNN Training" (INFOCOM 2022), as specified in docs/planner.md.
Result<Plan> planSpp(const Problem &problem);

/// The best plan that is found of all schedules of Generators.h but those of
/// twins, with any number of stages on each device and of pipelines side by
/// side (Placed.h).
Result<Plan> planPlaced(const Problem &problem);

/// Whether a plan of planPlaced() saves enough of a step that takes `plain` to
/// be preferred: its artifact runs for one number of microbatches.
inline bool savesEnough(Seconds placed, Seconds plain) {
  constexpr double kLeastSaved = 0.005;
  return placed < plain * (1 - kLeastSaved);
}

/// The better of planSpp() and planPlaced(). Where a number of stages is asked
/// for they lie on a device each, and the plan is spp's.
Result<Plan> planAuto(const Problem &problem);

/// Cuts the chain into `stages` stages (as many as devices where not asked for)
/// so that the most loaded stage or cut is as little loaded as possible, by an
/// exact dynamic program: load of a stage is its F + I + W, of a cut the
/// transfer time of all values across it, both ways. Stage s lies on device s,
/// without replicas. Among the optima the one with the least sum of squared
/// loads. Time O(S L^2).
///
/// Source: the chains-on-chains partitioning problem (Bokhari 1988).
Result<Plan> planBalance(const Problem &problem);

/// Contiguous stages (no path leaves one and comes back) of any acyclic graph,
/// branches side by side where that is better, one device each, with the least
/// maximum load: of a stage the seconds of its F, I and W and of every value
/// that crosses its border, in or out, each once. Exact: a dynamic program over
/// the down-sets of the forward graph; of equal optima the one with the least
/// sum of squared loads. Where links are unequal the devices are taken in RDO's
/// order or its reverse, and a value is charged the slower of the neighbouring
/// links. Fails where a graph has more than 200,000 down-sets.
///
/// Source: Tarnawski et al., "Efficient algorithms for device placement of DNN
/// graph operators" (NeurIPS 2020).
Result<Plan> planIdealDp(const Problem &problem);

/// The same along one depth-first topological order of the layers ("DPL"):
/// O(L^2) loads, not exact where there are branches.
Result<Plan> planIdealDpLinear(const Problem &problem);
/// PipeDream's hierarchical dynamic program with the formulas of its paper:
/// all-reduce overlapped with compute. Minimises the bottleneck, the seconds of
/// the slowest stage or transfer per microbatch. Levels are the devices of a
/// host and the hosts, if all hosts are alike and replicas are not limited, and
/// else all devices as one. A graph of too many antichains is read as a chain.
/// Time O(N^3 d^2 + N^2 h^2) for N antichains, d devices a host, h hosts.
///
/// Source: Narayanan et al., PipeDream, SOSP 2019; PipeDream.h.
Result<Plan> planPipeDream(const Problem &problem);

/// The same with the formulas of the published optimizer: all-reduce added to
/// compute, and at twice the bytes.
Result<Plan> planPipeDreamCode(const Problem &problem);

/// planIdealDp() after layers between which branches leave and meet again have
/// become one, as PipeDream does (biconnected components of the graph of
/// forward and backward nodes): the baseline called "pipeDream" in the same
/// program.
Result<Plan> planBranchDp(const Problem &problem);

/// Starts from planIdealDp's plan and lets a device hold several stages that
/// are not next to each other, which pays where an encoder's values are used
/// all along the decoder: simulated annealing on the loads with ten restarts,
/// then the best moves and exchanges of layers until none lowers the maximum
/// load. Of loads within 0.1 % of the least the plan with the shortest
/// simulated step. Deterministic; the seed is in the explanation. The load is
/// at most 0.1 % above the start's. Chooses the number of stages itself.
///
/// Source: the local search baseline of the same paper.
Result<Plan> planLocalSearch(const Problem &problem);

/// Piper's plan: stages of contiguous layers (differences of downsets of the
/// graph), each on d replicas of t tensor-parallel devices, a way to run each
/// layer chosen among its alternatives, so that the most loaded stage takes the
/// least time per sample; memory counts the samples in flight. Exact but for
/// the choice of alternatives, which is Piper's heuristic. Graphs of more than
/// 1,500 downsets are searched as chains. Replicas divide the microbatches.
///
/// Piper knows one kind of device and one bandwidth: the slowest device, the
/// smallest memory and the slowest pair of the cluster stand for all. Layers
/// without alternatives may run as they are or with their forward again.
///
/// `value` is Piper's time per sample of an asynchronous pipeline; `time` is
/// that of one step with a flush, simulated with a group of t devices as one
/// processor that takes as long as the chosen alternatives say.
///
/// Source: Tarnawski, Narayanan, Phanishayee: Piper, NeurIPS 2021; values equal
/// those of the published program.
Result<Plan> planPiper(const Problem &problem);

/// What Piper says that `plan` takes for each sample; the error names a stage
/// that does not fit.
Result<double> timePerSample(const Problem &problem, const Network &network,
                             const Plan &plan);

/// The plan in Problem::fixedPlan, as JSON or as ranges of layers with their
/// replicas, "[0,19)x15 [19,26)x1". An "r" behind a stage lets it recompute;
/// "[0,19)@d0+d3" names its devices, and ":3+1" behind either the samples of
/// each replica, where they are not to follow its speed. Stages that name none
/// take the next ones of RDO's order or of its reverse, whichever is faster.
/// Simulated in the allowed orders, a plan in JSON in the one that it states.
Result<Plan> planFixed(const Problem &problem);

/// How far refine() goes.
struct RefineOptions {
  /// Blocks of compute and transfers that may be simulated, and layers and
  /// values looked at, over all plans: some seconds.
  int64_t work = 50'000'000;
  /// Moves that lose a little after which it is tried to move layers.
  size_t secondMoves = 24;
};

/// `start`, or a faster plan that moves lead to: of layers across cuts, of
/// devices between stages, of stages split and merged, of recomputation, and of
/// layers to stages that share devices (a tied embedding with the last stage).
/// Takes the best move of the stage with the most work, or else of the next;
/// where no move helps, one that loses a little and the moves of layers that
/// follow it. A move counts only if the simulated time drops and memory is
/// respected, so that the plan is never slower than `start`. The explanation
/// lists the moves and how many plans were simulated.
///
/// Source: Aceso's bottleneck alleviation (Liu et al., EuroSys 2024).
Result<Plan> refine(const Problem &problem, const Network &network,
                    const Plan &start, const RefineOptions &options = {});

/// What `start` plans, refined.
Result<Plan> refineFrom(Result<Plan> (*start)(const Problem &),
                        const Problem &problem);

/// The plan of `spp`, refined.
Result<Plan> planRefine(const Problem &problem);
/// DAPPLE's search: stages from the front, placed by three policies, ranked by
/// the latency L with pivot, with the stage costs of Evaluate.h (equal slices).
/// Minimises L; where the plan of least L does not fit in memory, the best of
/// the others kept that does. Time O(states * N * G), Dapple.h; 96 layers on 32
/// devices in seconds.
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

/// torchgpipe's balance by time: stage s on device s, block sums alike. The
/// weakest baseline; the value is the spread of the stages' seconds.
///
/// Source: BlockPartition.h.
Result<Plan> planBlockPartition(const Problem &problem);

/// One device a stage, as many stages as devices, the slowest stage as fast as
/// possible; transfers do not count.
Result<Plan> planStraight(const Problem &problem);

/// One stage on all devices.
Result<Plan> planDataParallel(const Problem &problem);

/// A planner: problem in, plan out.
struct Planner {
  const char *name;    ///< As in `planner=`.
  const char *summary; ///< One line for --help.
  Result<Plan> (*plan)(const Problem &problem);
};

/// check(), the planner, the bound over all plans, verify(): how tools and
/// passes run one.
Result<Plan> runPlanner(const Planner &planner, const Problem &problem);

/// All planners, the default one first.
std::span<const Planner> allPlanners();

/// The planner called `name`; the error lists those there are. "refine:balance"
/// refines the plan of that planner instead of spp's.
Result<Planner> findPlanner(std::string_view name);

} // namespace stagewright

#endif // STAGEWRIGHT_PLANNING_PLANNERS_H
