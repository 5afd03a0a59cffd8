//===- Baselines.h - published planners to compare with ---------*- C++ -*-===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Published planners of others and simple planners, as functions like those of
// Planners.h. Stagewright's own planners do not use them, so they are a
// separate library. The planners of DAPPLE and PipeDream are in Planners.h,
// because planSpp() uses them: it also simulates their plans.
//
//===----------------------------------------------------------------------===//

#ifndef STAGEWRIGHT_PLANNING_BASELINES_BASELINES_H
#define STAGEWRIGHT_PLANNING_BASELINES_BASELINES_H

#include "stagewright/Planning/Planners.h"

namespace stagewright {

/// Makes findPlanner() and allPlanners() know the planners below.
void registerBaselines();

/// Contiguous stages (no path leaves one and comes back) of any acyclic graph,
/// one device each, with the least max load; branches may be parallel stages.
/// The load of a stage is the seconds of its F, I and W and of every value that
/// enters or leaves it, each once. Exact: a dynamic program over the down-sets
/// of the forward graph; of equal optima it takes the one with the least sum of
/// squared loads. If links are unequal, devices are in the order of recursive
/// device ordering (docs/planner.md, section 2) or its reverse, and a value
/// costs the time of the slower adjacent link. Fails for graphs of more than
/// 200,000 down-sets.
///
/// Source: Tarnawski et al., "Efficient algorithms for device placement of DNN
/// graph operators" (NeurIPS 2020).
Result<Plan> planIdealDp(const Problem &problem);

/// The same along one depth-first topological order of the layers ("DPL"):
/// O(L^2) loads; not exact for graphs with branches.
Result<Plan> planIdealDpLinear(const Problem &problem);

/// planIdealDp() after merging all layers between a fork and its join into one,
/// as PipeDream does (biconnected components of the graph of forward and
/// backward nodes): the baseline "pipeDream" in the program of Tarnawski et al.
Result<Plan> planBranchDp(const Problem &problem);

/// Lets a device run several stages that are not adjacent, which is better if
/// the whole decoder uses an encoder's values. Starts from planIdealDp's plan
/// and from nine random assignments. Anneals the loads, then takes the best
/// move or exchange of layers until none lowers the max load. Of the plans
/// whose max load is within 0.1 % of the least it takes the one with the
/// shortest simulated step. Deterministic; the seed is in the explanation. The
/// load is at most 0.1 % above that of planIdealDp's plan. Chooses the number
/// of stages itself; if one is requested, drops plans with another number.
///
/// Source: the local search baseline of Tarnawski et al., NeurIPS 2020.
Result<Plan> planLocalSearch(const Problem &problem);

/// Piper's plan: stages of contiguous layers (differences of downsets of the
/// graph), each on d replicas of t tensor-parallel devices, with one of its
/// alternatives chosen for each layer, to minimise the max time per sample of a
/// stage; memory counts the samples in flight. Exact except for the choice of
/// alternatives, which is Piper's heuristic. Graphs of more than 1,500 downsets
/// are searched as chains. The number of replicas of each stage divides the
/// number of microbatches.
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

/// Alpa's dynamic program over stages. A stage costs its time on the slowest
/// device class in equal slices, plus the all-reduce divided by the number of
/// microbatches; as in Alpa, transfers cost nothing. Minimises
/// sum t + (M - 1) max t for stages of t seconds and M microbatches. All
/// devices are used; if hosts have unequal sizes, or not a power of two, every
/// device counts as a host.
///
/// Source: Zheng et al., Alpa, OSDI 2022, section 5; Alpa.h.
Result<Plan> planAlpa(const Problem &problem);

/// torchgpipe's balance by time: stage s on device s, with stages of times as
/// similar as torchgpipe makes them. The weakest baseline; its value is the
/// difference between the largest and the smallest seconds of a stage.
///
/// Source: BlockPartition.h.
Result<Plan> planBlockPartition(const Problem &problem);

/// One device per stage and one stage per device, with the least time of the
/// slowest stage; ignores transfers.
Result<Plan> planStraight(const Problem &problem);

/// One stage on all devices, or on the first max-replicas of them.
Result<Plan> planDataParallel(const Problem &problem);

} // namespace stagewright

#endif // STAGEWRIGHT_PLANNING_BASELINES_BASELINES_H
