//===- PlacedFamilies.h - placements and schedules of a family --*- C++ -*-===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Private to this folder: the search of a family of plans, shared by the files
// that implement it. PlacedFamilies.cpp enumerates placements and evaluates
// cuts, TimeCuts.cpp estimates and times even cuts.
//
//===----------------------------------------------------------------------===//

#ifndef STAGEWRIGHT_LIB_PLANNING_PLACED_PLACEDFAMILIES_H
#define STAGEWRIGHT_LIB_PLANNING_PLACED_PLACEDFAMILIES_H

#include "Placed/PlacedSearch.h"
#include "stagewright/Planning/Bounds.h"
#include "stagewright/Planning/Planners.h"
#include "stagewright/Support/Infinity.h"
#include <map>

namespace stagewright {

/// Whether an even cut has the memory that every schedule needs.
struct CutRoom {
  bool each = true; ///< Every rank has the memory for its own part.
  /// All ranks together have the memory for one microbatch in flight. If not,
  /// no other ends of the stages fit either.
  bool together = true;
};

/// One placement of stages with one number of pipelines.
struct CutCandidate {
  PlacedRequest request;
  std::vector<int64_t> ends;
  double bound = 0;            ///< Lower bound for all schedules of this cut.
  double estimate = 0;         ///< `bound`, plus filling and draining.
  std::optional<CutRoom> room; ///< Known once it is to be timed.
  std::optional<CutCost> cost;
};

/// What has been timed.
struct TimedCuts {
  double best = kInfinity; ///< The least time of those that fit.
  size_t count = 0;
  /// By placement and chunks: the most ranks of a cut that does not fit.
  std::map<std::pair<Placement, int64_t>, int64_t> lacking;
};

/// Searches the plans of a family.
class PlacedFamilies {
public:
  PlacedFamilies(const Problem &problem, const Network &network,
                 const PlacedFamily &family)
      : problem(problem), network(network), family(family),
        devices(int64_t(problem.cluster.devices.size())),
        gradients(problem.gradients()),
        classOf(problem.cluster.classOfDevices()), index(problem) {}

  /// See planPlacedBelow().
  Result<std::optional<Plan>> best(Seconds limit);
  Seconds bound();

private:
  void enumerate();
  void add(const StagePlacement &where, int64_t pipelines);
  bool splitsBackward() const;
  std::vector<PipelineShape> shapes() const;
  bool dropSlow(Seconds limit);
  Result<Plan> bestOfCandidates();
  int64_t mostPipelines(const StagePlacement &where) const;
  double sumsOf(int64_t ranks, int64_t pipelines);
  void estimate(CutCandidate &candidate);
  CutRoom roomOf(const CutCandidate &candidate);
  void timeCuts();
  void timeSome(const std::vector<CutCandidate *> &some, TimedCuts &timed,
                std::vector<CutCandidate *> *later);
  std::vector<Result<CutCost>> costsOf(const std::vector<CutCandidate *> &some);
  Seconds leastTime() const;
  const Problem &first(int64_t pipelines);
  PlacedSearch search(const CutCandidate &candidate);

  /// Whether to leave out a cut that takes `time`, because it stays above the
  /// limit even after improvement; if so, notes it in `leavesOut`.
  bool leaveOut(double time) {
    leavesOut |= time >= slow;
    return time >= slow;
  }

  const Problem &problem;
  const Network &network;
  const PlacedFamily &family;
  double slow = kInfinity; ///< Cuts that take this long are left out.
  bool leavesOut = false;  ///< Some plan is left out for its time.
  int64_t devices;
  Bytes gradients;                  ///< Each once.
  std::vector<size_t> classOf;      ///< By device.
  std::vector<SlowestPair> slowest; ///< Of the first 1, 2, ... devices.
  LayerIndex index;
  std::vector<CutCandidate> candidates;
  std::map<int64_t, Problem> firsts; ///< By number of pipelines.
};

} // namespace stagewright

#endif // STAGEWRIGHT_LIB_PLANNING_PLACED_PLACEDFAMILIES_H
