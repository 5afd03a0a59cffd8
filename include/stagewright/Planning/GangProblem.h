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
// pipeline-shard splits layers into levels: a level has at least one layer on
// every device of the gang, and these read values of the level before it from
// all devices. In a pipeline of several gangs each gang runs one action at a
// time, level by level. If device r waits m_k(r) seconds for the values of the
// other devices and then computes level k for c_k(r) seconds, the action takes
//
//   at most   sum over k of max over r of (m_k(r) + c_k(r)),
//   at least  sum over k of min over r of (m_k(r) + c_k(r)).
//
// Plans are made with the first sum. The second is a lower bound: no device
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
  /// The ends of the stages of the finest cut: stages may end only before these
  /// levels. The last end is the number of levels.
  std::vector<size_t> ends;
  /// Whether each layer of the gang has one more level of recomputation, the
  /// last: it keeps only what other layers of the gang send to it, and its
  /// backward repeats the forward with the messages between the shards
  /// (checkpoints of whole layers, as in Megatron-LM).
  bool repeats = false;
  /// The same layers with the part of the forward that such a backward repeats,
  /// in levels of its own; null: it repeats the whole forward.
  std::shared_ptr<const RepeatedLayers> again = {};
};

/// A problem in which every layer of the gang repeats its forward in levels of
/// its own. `layers` has as many ends of stages as without these levels.
struct RepeatedLayers {
  Problem problem;
  ShardedLayers layers;
};

/// Removes ends of stages until each layer of the gang reads a forward value of
/// the layer before it and, if there are backwards, returns a gradient to that
/// layer: bounds of a pipeline need such a chain.
void joinToChain(const Problem &problem, ShardedLayers &layers);

/// A problem with gangs of consecutive devices as devices, and with one layer
/// for each stage of the finest cut. Bytes are those of one shard; in `most`,
/// the bandwidths of hosts are divided among the shards that send at a time.
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

/// The family of pipelines of gangs under the linear and looped schedules that
/// are not searched and that split backwards as `problem` does; for inference,
/// those that do not, or the one that `schedule` names. Schedules that
/// go to the last gang and back, such as zb-v, are not among them: they need a
/// given number of shards and of stages. `schedule`: the only one allowed, or
/// empty for any; the family has no generator if it is not one of these.
PlacedFamily gangFamily(const Problem &problem, const std::string &schedule);

/// The faster of two plans of planPlaced(): for `problem`, whose layers may
/// repeat their forwards, and for the same problem without this recomputation
/// level. The search is not exact, so with more levels it may find a slower
/// plan.
Result<Plan> planRepeating(const Problem &problem, const PlacedFamily &family);

/// A lower bound on the time of all plans of `family`, including those of
/// single gangs that run several microbatches at a time.
Result<Seconds> gangBound(const GangProblems &problems,
                          const PlacedFamily &family);

} // namespace stagewright

#endif // STAGEWRIGHT_PLANNING_GANGPROBLEM_H
