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
/// or the highest; those of twins stay. `packer`: as for memoryOf().
void fitLevels(const Problem &problem, const LevelCurve &curve,
               const StagePlacement &where, const Schedule &schedule,
               std::vector<StagePlan> &stages, LifePacker *packer);

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

/// Actions that may be timed while cuts are moved: about two seconds.
inline constexpr int64_t kMostActions = 20'000'000;

/// What the first of `pipelines` side by side has to do: its share of the
/// microbatches, beside which it holds the inputs and results of all.
Problem firstOf(const Problem &problem, int64_t pipelines);

/// The network of `problem`, whose stages may outnumber its devices.
Result<Network> checkedNetwork(const Problem &problem);

/// The ends of the stages whose largest is smallest.
std::vector<int64_t> evenCut(const Problem &problem,
                             const PlacedRequest &request);

class PlacedSearch {
public:
  /// All must outlive the search.
  PlacedSearch(const Problem &problem, const Network &network,
               const PlacedRequest &request,
               const std::vector<Generator> &generators);

  /// Layers [ends[s - 1], ends[s]) on stage s, with the levels that `generator`
  /// needs, packed.
  std::vector<StagePlan> stagesOf(const std::vector<int64_t> &ends,
                                  size_t generator);
  /// Moves single cuts for as long as that costs less and fewer than
  /// `mostActions` are timed.
  std::vector<int64_t> improve(std::vector<int64_t> ends, int64_t mostActions);
  /// The cost of a cut, the best of all schedules; fails where none of them can
  /// be made for it.
  Result<CutCost> costOf(const std::vector<int64_t> &ends);
  /// Those of all schedules that can be made for it, the best first, or the
  /// error of the last.
  Result<std::vector<CutCost>> costsOf(const std::vector<int64_t> &ends);

  int64_t pipelines() const { return request.pipelines; }
  const Generator &generator(size_t number) const { return generators[number]; }

private:
  std::vector<StagePlan> stagesOf(const std::vector<int64_t> &ends) const;
  Result<CutCost> costWith(const std::vector<int64_t> &ends, size_t generator,
                           std::vector<StagePlan> *leveled = nullptr);

  const Problem &problem;
  /// The same with room for everything: what is missing is an excess.
  Problem roomy;
  LevelCurve curve;
  const Network &network;
  const PlacedRequest &request;
  const StagePlacement &where;
  const std::vector<Generator> &generators;
  int64_t actions = 0; ///< Timed so far.
  LifePacker packer;
};

/// The plan of a cut, for all pipelines of `whole`; the error says how much
/// memory is missing.
Result<Plan> planOf(const Problem &whole, const Network &network,
                    PlacedSearch &search, const std::vector<int64_t> &ends);

} // namespace stagewright

#endif // STAGEWRIGHT_PLANNING_PLACEDSEARCH_H
