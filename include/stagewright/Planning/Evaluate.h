//===- Evaluate.h - time and memory of a plan -------------------*- C++ -*-===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Converts a plan to the pipeline that is simulated, with the same formulas for
// every planner, so that their plans can be compared.
//
// Stage n has the layers I, which take f(I, v) and b(I, v) seconds forward and
// backward on device v, and r devices D. Device v has share x_v of a microbatch
// (x_v = 1/r on equal devices, else in proportion to speed, rounded to whole
// samples where their number is known). With recomputation B_n includes F_n:
//   F_n = max_v x_v f(I, v), B_n = max_v x_v b(I, v).
// Channel from senders u to receivers v, with q_uv = x_u x_v * bytes between a
// pair of bandwidth beta_uv:
//   c = max over u of sum_v q_uv/beta_uv, over v of sum_u q_uv/beta_uv, over
//       hosts of the seconds of their NICs; plus the largest latency of a pair.
// All-reduce of a layer's gradients of p bytes, beta the bandwidth of the
// slowest pair of D; without overlap, of all gradients of the stage together:
//   2 (r-1)/r p/beta + 2 (r-1) latency.
// Source: SPP's system model (docs/planner.md, section 1); slices as in DAPPLE.
//
//===----------------------------------------------------------------------===//

#ifndef STAGEWRIGHT_PLANNING_EVALUATE_H
#define STAGEWRIGHT_PLANNING_EVALUATE_H

#include "stagewright/Cost/Network.h"
#include "stagewright/Planning/Plan.h"
#include <limits>

namespace stagewright {

/// The share of a microbatch that each replica works on, in whole samples if
/// `samples` is not 0; they add up to 1. `seconds`: of a whole microbatch, by
/// replica.
std::vector<double> sharesOf(const std::vector<double> &seconds,
                             const CostModel &model, int64_t samples);

/// Seconds to transfer `bytes` (of a whole microbatch) from the replicas of one
/// stage to those of another; 0 for no bytes. `given`: seconds stated by the
/// input.
Seconds transferTime(const Network &network, const std::vector<size_t> &from,
                     const std::vector<double> &fromShares,
                     const std::vector<size_t> &to,
                     const std::vector<double> &toShares, Bytes bytes,
                     Seconds given = {});

/// The same for a whole microbatch between two devices.
Seconds transferTime(const Network &network, size_t from, size_t to,
                     Bytes bytes, Seconds given = {});

/// The least bandwidth and the largest latency of pairs of devices.
struct SlowestPair {
  double bandwidth = std::numeric_limits<double>::infinity(), latency = 0;
  void add(const Network &network, size_t a, size_t b);
};

/// Seconds of a ring all-reduce of `bytes` over `replicas` devices, of which
/// `slowest` is the slowest pair.
Seconds allReduceTime(const SlowestPair &slowest, size_t replicas, Bytes bytes);

/// Seconds of a ring all-reduce of `bytes` over `devices`. O(devices^2).
Seconds allReduceTime(const Network &network,
                      const std::vector<size_t> &devices, Bytes bytes);

/// The pipeline of `plan`'s stages, with the seconds of each stage and channel.
/// Fills the second part of each stage except `memory`, `host` and `binding`.
/// Where flows share links, links 2 h and 2 h + 1 are the NIC of host h, out
/// and in.
PipelineModel pipelineOf(const Problem &problem, const Network &network,
                         Plan &plan);

/// Max microbatches that stage n = `fromEnd` (1: the last) holds between F and
/// B under `order`: n in 1F1B and CapA, 2n - 1 in EarlyBackward, 4 (n - 1) + 1
/// in Window, but at most M; M in the other orders.
int64_t inFlightOf(ExecutionOrder order, int64_t fromEnd, int64_t microbatches);

/// The same for one of a stage's `own` replicas that take turns, if this stage
/// and the later ones have `ahead` replicas in all. Each of several pipelines
/// side by side holds as many as it would alone.
int64_t inFlightInTurn(ExecutionOrder order, int64_t ahead, int64_t own,
                       int64_t microbatches);

/// Amounts by the lifetime of values that a stage holds for a microbatch.
struct ByLife {
  ByLife() = default;
  ByLife(int64_t toInput, int64_t toWeight, int64_t between)
      : toInput(toInput), toWeight(toWeight), between(between) {}
  /// `inFlight` microbatches whose backward is one action.
  explicit ByLife(int64_t inFlight)
      : ByLife(inFlight, inFlight, std::min<int64_t>(inFlight, 1)) {}

  int64_t toInput = 0;  ///< From F to I, or to B.
  int64_t toWeight = 0; ///< From F to W.
  int64_t between = 0;  ///< From I to W.

  int64_t all() const { return toInput + toWeight + between; }
  double times(const ByLife &counts) const {
    return double(toInput) * double(counts.toInput) +
           double(toWeight) * double(counts.toWeight) +
           double(between) * double(counts.between);
  }
};

/// Bytes of a set of layers, by how many times they are held; for a whole
/// microbatch, before slicing.
struct StageMemory {
  int64_t once = 0;          ///< Parameters, gradients, state, constants.
  int64_t perMicrobatch = 0; ///< Inputs and joined outputs of the step.
  ByLife stash;              ///< Made here, used here in a later action.
  ByLife receivedStash;      ///< Received, used in a later action.
  int64_t received = 0;      ///< Received, used by the receiving action only.
  int64_t offloaded = 0;     ///< Made here, held in host memory.
  int64_t recomputed = 0;    ///< Recomputed, for one microbatch at a time.
  int64_t temporaries = 0;   ///< Max over the layers, while one runs.
  /// The same for one sample, and its share of a microbatch. Temporaries are
  /// not proportional to the samples if they include whole weights.
  int64_t sampleTemporaries = 0;
  double sample = 1;
  int64_t leaving = 1; ///< slotsLeaving() of the order.
  /// Stages of a rank share the rings for the values counted by `received`.
  bool sharesRings = false;

  /// Adds the temporaries of a layer; to be called for each layer of a stage.
  void addTemporaries(const Problem &problem, size_t layer, int64_t level = 0);
  double temporariesOf(double share) const;

  /// Bytes of a replica with `share` of each microbatch. `routes`: the number
  /// of routes of microbatches through it; each has its own rings and an equal
  /// part of the microbatches in flight. `atOnce`: slotsAtOnce() of the order.
  Bytes with(ByLife inFlight, int64_t microbatches, double share,
             int64_t routes = 1, int64_t atOnce = 2) const;
  Bytes with(int64_t inFlight, int64_t microbatches, double share,
             int64_t routes = 1) const {
    return with(ByLife(inFlight), microbatches, share, routes);
  }
  /// The bytes in the memory of its host.
  Bytes onHost(ByLife inFlight, double share, int64_t routes = 1) const;
};

/// The memory of the layers for which `isHere` is set. With recomputation a
/// stage holds the values that it receives, and its own values for one
/// microbatch at a time.
StageMemory stageMemory(const Problem &problem, const std::vector<bool> &isHere,
                        bool recompute);

/// The memory of the layers of `stage`, at their levels of recomputation.
StageMemory stageMemory(const Problem &problem, const StagePlan &stage);

/// F, I and W of one microbatch on layer `stage.layers[number]`, at its level,
/// on a device of class `deviceClass`; recomputation is part of I.
StageTimes timesOfLayer(const Problem &problem, const StagePlan &stage,
                        size_t number, size_t deviceClass);

/// An upper bound of the memory of a stage in any plan: all layers with every
/// microbatch in flight, and all values that a part of them could receive.
Bytes mostMemory(const Problem &problem);

/// Whether a device has less memory than mostMemory().
bool memoryMayBind(const Problem &problem);

/// Seconds to copy the values that `stage` offloads for one microbatch to the
/// host, on the slowest replica; copying back takes as long.
Seconds copyingTime(const Problem &problem, const StagePlan &stage);

/// Bytes that stage `stage` of `plan` holds in the memory of each device's
/// host.
std::vector<Bytes> hostMemoryOf(const Problem &problem, const Plan &plan,
                                size_t stage, ExecutionOrder order);

/// Bytes that stage `stage` of `plan` holds on each of its devices under
/// `order`.
std::vector<Bytes> memoryOf(const Problem &problem, const Plan &plan,
                            size_t stage, ExecutionOrder order);

/// The share of each microbatch that each device of `stage` works on: 1 if the
/// replicas take whole microbatches in turn.
std::vector<double> sharesOf(const Problem &problem, const StagePlan &stage);

/// Whether the replicas of `stage` take whole microbatches in turn, because one
/// of its layers cannot be sliced or a microbatch has only one sample.
bool takesTurns(const Problem &problem, const StagePlan &stage);

/// The number of replicas of `stage` that take turns; 1 if they share every
/// microbatch.
int64_t turnsOf(const Problem &problem, const StagePlan &stage);

/// The number of routes of microbatches through the replicas that take turns:
/// the least common multiple of their numbers. A plan may have at most
/// kMostRoutes, since each has its own code and rings. If there are more,
/// returns any number above kMostRoutes.
int64_t routesOf(const Problem &problem, const Plan &plan);
inline constexpr int64_t kMostRoutes = 64;

/// A stage of layers [first, end) on `devices`, for planners of chains.
StagePlan stageOf(int64_t first, int64_t end, std::vector<size_t> devices);

/// `bound` as reported for a plan that takes `time`: reduced to `time` if it is
/// larger only because of rounding.
Seconds boundOf(Seconds bound, Seconds time);

/// Simulates `plan` in every order that `problem` allows (with recomputation,
/// offloading or other shares where it does not fit in memory), keeps the
/// fastest, and fills in everything except the family bound. The error names
/// the stage that does not fit, and by how much.
Status evaluate(const Problem &problem, const Network &network, Plan &plan);

} // namespace stagewright

#endif // STAGEWRIGHT_PLANNING_EVALUATE_H
