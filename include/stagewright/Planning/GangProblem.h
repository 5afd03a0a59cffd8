//===- GangProblem.h - shards of layers as one device -----------*- C++ -*-===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Layers that are split over the devices of a gang (Scheduling/Gangs.h), as a
// problem in which every gang is one device. So planners cut them into stages,
// replicate and place them like whole layers, and bound what they find.
//
// pipeline-shard splits layers into levels: each has a layer on every device of
// the gang, and the layers of one level get values from those of the level
// before, of all devices. In a pipeline of several gangs each gang runs one
// action at a time, level by level. If level k takes c_k(r) seconds on device
// r, which then has waited m_k(r) seconds for the values of the others, the
// action takes
//
//   at most   sum over k of max over r of (m_k(r) + c_k(r)),
//   at least  sum over k of min over r of (m_k(r) + c_k(r)).
//
// The first is what a plan is made for, and the second a lower bound: no device
// ends level k before the first device that ends level k - 1 has sent its
// values, and m_k(r) counts only values of that level.
//
//===----------------------------------------------------------------------===//

#ifndef STAGEWRIGHT_PLANNING_GANGPROBLEM_H
#define STAGEWRIGHT_PLANNING_GANGPROBLEM_H

#include "stagewright/Planning/Placed.h"
#include <memory>

namespace stagewright {

struct RepeatedLayers;

/// The levels and shards of the layers of a problem.
struct ShardedLayers {
  struct Place {
    size_t level = 0, shard = 0;
  };
  size_t ways = 1;           ///< Devices of a gang.
  std::vector<Place> places; ///< By layer.
  /// The levels before which a stage may begin, as the ends of the stages of
  /// the finest cut; the last one is the number of levels.
  std::vector<size_t> ends;
  /// Whether each layer of the gang has one more level of recomputation, the
  /// last: it keeps only what other layers of the gang send to it, and its
  /// backward repeats the forward with the messages between the shards
  /// (checkpoints of whole layers, as in Megatron-LM).
  bool repeats = false;
  /// The same layers with what then runs again, in levels of their own; null:
  /// the whole forward runs again.
  std::shared_ptr<const RepeatedLayers> again = {};
};

/// Layers of which each repeats its forward, with the same ends of stages.
struct RepeatedLayers {
  Problem problem;
  ShardedLayers layers;
};

/// Removes ends so that each layer of the gang gets a value from the one before
/// in the forward, and returns a gradient to it if there are backwards: bounds
/// of a pipeline need such a chain.
void joinToChain(const Problem &problem, ShardedLayers &layers);

/// A problem with gangs of consecutive devices as devices, and with one layer
/// for each stage of the finest cut. Bytes are those of one shard, and the
/// bandwidths of hosts are divided among the shards that send at a time.
/// Devices beyond the last whole gang are left out.
struct GangProblems {
  Problem most;    ///< With the sum above of the maxima as times.
  Problem least;   ///< With the sum of the minima.
  Problem compute; ///< With the sum of the minima without messages: if a gang
                   ///< runs several microbatches at a time, messages overlap
                   ///< with compute.
};

/// Fails if not even one gang is left, or if no path connects two devices.
Result<GangProblems> gangProblems(const Problem &problem,
                                  const ShardedLayers &layers);

/// The pipelines of gangs by schedules that go around the devices and are not
/// searched. Those that go to the last gang and back, such as zb-v, are only
/// for a given number of stages. `schedule`: one of the family, else it is
/// empty; empty: any.
PlacedFamily gangFamily(const Problem &problem, const std::string &schedule);

/// planPlaced() of `problem`, whose layers repeat, or of the same without the
/// level that repeats whole layers if that is faster: a search among more plans
/// may end with a slower one.
Result<Plan> planRepeating(const Problem &problem, const PlacedFamily &family);

/// A lower bound on the time of all plans of `family`, including those of
/// single gangs that run several microbatches at a time.
Result<Seconds> gangBound(const GangProblems &problems,
                          const PlacedFamily &family);

} // namespace stagewright

#endif // STAGEWRIGHT_PLANNING_GANGPROBLEM_H
