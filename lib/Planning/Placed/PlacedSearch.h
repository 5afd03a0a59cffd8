//===- PlacedSearch.h - cuts for several stages on a device -----*- C++ -*-===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Private to this room: what a cut costs under the schedules that a plan may be
// made for, and moves of single layers that make it cost less.
//
//===----------------------------------------------------------------------===//

#ifndef STAGEWRIGHT_PLANNING_PLACEDSEARCH_H
#define STAGEWRIGHT_PLANNING_PLACEDSEARCH_H

#include "FitLevels.h"
#include "stagewright/Planning/Placed.h"

namespace stagewright {

/// Gives `stages` the levels at which the devices hold what `schedule` keeps,
/// or the highest; those of twins stay.
void fitLevels(const Problem &problem, const LevelCurve &curve,
               const StagePlacement &where, const Schedule &schedule,
               std::vector<StagePlan> &stages);

/// What cuts are compared by, in this order.
struct CutCost {
  int64_t excess = 0; ///< Bytes that are missing on devices, in all.
  Seconds time;       ///< Of the fastest schedule that fits.
  double squares = 0; ///< Of the seconds of stages: even ones are better.
  size_t schedule = 0;
  Bytes need = {}; ///< Where most is missing, and the device.
  size_t device = 0;

  bool operator<(const CutCost &other) const;
};

class PlacedSearch {
public:
  /// All must outlive the search.
  PlacedSearch(const Problem &problem, const Network &network,
               const PlacedRequest &request,
               const std::vector<Generator> &generators);

  /// Layers [ends[s - 1], ends[s]) on stage s, with the levels that `generator`
  /// needs.
  std::vector<StagePlan> stagesOf(const std::vector<int64_t> &ends,
                                  size_t generator);
  /// The ends of the stages whose largest is smallest.
  std::vector<int64_t> start() const;
  /// Moves single cuts for as long as that costs less.
  std::vector<int64_t> improve(std::vector<int64_t> ends);
  /// The cost of a cut, the best of all schedules; fails where none of them can
  /// be made for it.
  Result<CutCost> costOf(const std::vector<int64_t> &ends);

private:
  std::vector<StagePlan> stagesOf(const std::vector<int64_t> &ends) const;
  Result<CutCost> costWith(const std::vector<int64_t> &ends, size_t generator,
                           std::vector<StagePlan> *leveled = nullptr);

  const Problem &problem;
  /// The same with room for everything: what is missing is an excess.
  Problem roomy;
  LevelCurve curve;
  const Network &network;
  const StagePlacement &where;
  int64_t pipelines;
  const std::vector<Generator> &generators;
  int64_t actions = 0; ///< Timed so far.
};

} // namespace stagewright

#endif // STAGEWRIGHT_PLANNING_PLACEDSEARCH_H
