//===- PlacedSearch.h - cuts for several stages on a device -----*- C++ -*-===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Private to this folder: the cost of a cut under the schedules that a plan may
// use, and a local search that moves single layers.
//
//===----------------------------------------------------------------------===//

#ifndef STAGEWRIGHT_PLANNING_PLACEDSEARCH_H
#define STAGEWRIGHT_PLANNING_PLACEDSEARCH_H

#include "FitLevels.h"
#include "stagewright/Planning/EvenCut.h"
#include "stagewright/Support/Packing.h"

namespace stagewright {

/// Gives `stages` the lowest recomputation levels at which what `schedule`
/// keeps fits on the devices, else the highest. Does nothing for twin
/// placements. `packer`: places the stashes of a rank as in programs; null: as
/// if packed without gaps, which is faster to compute.
void fitLevels(const Problem &problem, const LevelCurve &curve,
               const StagePlacement &where, const Schedule &schedule,
               std::vector<StagePlan> &stages, LifePacker *packer);

/// The cost of a cut. Compared by `excess`, then `time`, then `squares`.
struct CutCost {
  int64_t excess = 0; ///< Bytes missing on all devices together.
  Seconds time;       ///< Of the fastest schedule that fits.
  double squares = 0; ///< Sum of the stages' squared seconds; low if even.
  size_t schedule = 0;
  Bytes need = {}; ///< Bytes needed on `device`.
  size_t device = 0;

  bool operator<(const CutCost &other) const;
};

/// The error if `family` has no placement of stages for `problem`.
Error noShape(const Problem &problem, const PlacedFamily &family);

/// Max number of actions timed while cuts are moved: about two seconds.
inline constexpr int64_t kMostActions = 20'000'000;

/// The problem of the first of `pipelines` parallel pipelines: its share of the
/// microbatches, but memory for the inputs and results of all.
Problem firstOf(const Problem &problem, int64_t pipelines);

class PlacedSearch {
public:
  /// All must outlive the search.
  PlacedSearch(const Problem &problem, const Network &network,
               const PlacedRequest &request,
               const std::vector<Generator> &generators);

  /// Layers [ends[s - 1], ends[s]) on stage s, with the levels that the
  /// schedule of `generator` needs if stashes are packed.
  std::vector<StagePlan> stagesOf(const std::vector<int64_t> &ends,
                                  size_t generator);
  /// Moves one end by one layer at a time, as long as that lowers the cost and
  /// fewer than `mostActions` actions are timed.
  std::vector<int64_t> improve(std::vector<int64_t> ends, int64_t mostActions);
  /// The cost of a cut under the best schedule; an error if no schedule can be
  /// generated for it.
  Result<CutCost> costOf(const std::vector<int64_t> &ends);
  /// Its costs under all schedules that can be generated, the best first, or
  /// the error of the last one.
  Result<std::vector<CutCost>> costsOf(const std::vector<int64_t> &ends);

  /// A lower bound on the time of a cut under the schedule of a generator that
  /// is not searched, if each stage is on one device.
  Seconds leastTime(const std::vector<int64_t> &ends, size_t generator) const;

  int64_t pipelines() const { return request.pipelines; }
  const Generator &generator(size_t number) const { return generators[number]; }
  /// Has the packings of the stashes of stagesOf().
  LifePacker &packings() { return packer; }

private:
  std::vector<StagePlan> stagesOf(const std::vector<int64_t> &ends) const;
  /// The schedule of a generator for `stages`, and their costs.
  Result<Schedule> scheduleOf(const std::vector<StagePlan> &stages,
                              size_t generator,
                              Result<ScheduleProblem> &costs) const;
  Result<CutCost> costWith(const std::vector<int64_t> &ends, size_t generator);
  bool skips(const std::vector<int64_t> &ends, const CutCost &best);

  const Problem &problem;
  /// `problem` with unlimited memory, so that missing memory is no error.
  Problem roomy;
  LevelCurve curve;
  const Network &network;
  const PlacedRequest &request;
  const StagePlacement &where;
  const std::vector<Generator> &generators;
  int64_t actions = 0; ///< Timed so far.
  /// Of the schedule of each generator; 0: not known.
  std::vector<int64_t> actionsOf;
  /// By device class: times of layers [0, l).
  std::vector<std::vector<StageTimes>> sums;
  LifePacker packer;
};

/// The plan of a cut, for all pipelines of `whole`, without the memory of each
/// stage; the error says how much memory is missing.
Result<Plan> planOf(const Problem &whole, const Network &network,
                    PlacedSearch &search, const std::vector<int64_t> &ends);

/// evaluatePlaced() without the memory of each stage, to compare plans:
/// computing this memory takes longer than checking that it fits. `packer`
/// caches packings.
Status timePlaced(const Problem &problem, const Network &network,
                  const Generator &generator, Plan &plan, LifePacker &packer);

/// `plan` of planOf() in the order of one of `generators`, with the memory of
/// each stage, or its error.
Result<Plan> withMemory(const Problem &problem, const Network &network,
                        const std::vector<Generator> &generators,
                        Result<Plan> plan);

} // namespace stagewright

#endif // STAGEWRIGHT_PLANNING_PLACEDSEARCH_H
