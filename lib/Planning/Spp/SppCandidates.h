//===- SppCandidates.h - plans worth simulating -----------------*- C++ -*-===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Private to Spp/: the plans that the dynamic program (Prm.h) finds on each
// list of devices under several objectives, each plan once.
//
//===----------------------------------------------------------------------===//

#ifndef STAGEWRIGHT_PLANNING_SPPCANDIDATES_H
#define STAGEWRIGHT_PLANNING_SPPCANDIDATES_H

#include "Spp/Prm.h"
#include <set>

namespace stagewright {

struct SppCandidate {
  Plan plan;
  size_t order = 0; ///< Number of the list of devices.
  Seconds bound;    ///< Lower bound of the plan's time (Bounds.h).
};

class SppCandidates {
public:
  SppCandidates(const Problem &problem, const Network &network);

  /// Adds the plans found on a list of devices.
  void addOrder(const std::vector<size_t> &devices);

  /// Adds a plan that another planner found, on list number `order`.
  void addPlan(const Plan &plan, size_t order);

  /// Adds plans on list number `order` that are similar to `plan`, the best so
  /// far: tails of all-reduces count only where they exceed its drain
  /// (PrmOptions::drain).
  void addLike(const Plan &plan, size_t order,
               const std::vector<size_t> &devices);

  /// Adds plans of list number `order` whose bound is below `limit`. Does
  /// nothing on large instances, or if a number of stages is requested.
  void addBelow(Seconds limit, size_t order,
                const std::vector<size_t> &devices);

  /// Estimate of the least bound of a plan on this list, from two runs of the
  /// dynamic program.
  Seconds promiseOf(const std::vector<size_t> &devices) const;

  /// The candidates found since the last call, by increasing bound, then fewer
  /// stages, earlier cuts, narrower stages, lower devices.
  std::vector<SppCandidate> take();

  /// The plan that fits with the fewest additional bytes per device; sets
  /// `more` to that number. Has no stages if no number suffices.
  Plan planOfLeastMemory(const std::vector<size_t> &devices,
                         int64_t &more) const;

private:
  PrmOptions optionsFor(ExecutionOrder order) const;
  void addUniform(const std::vector<size_t> &devices);
  void addGoals(const PrmBlocks &blocks, PrmOptions options);
  std::vector<double> addLoads(const PrmBlocks &blocks, PrmOptions options);
  std::vector<PrmOptions> withCaps(const PrmBlocks &blocks, PrmOptions options,
                                   const std::vector<double> &loads) const;
  std::vector<double> drainOfBest() const;
  std::vector<double> drainOf(Plan plan) const;
  /// Adds the plans of each of `runs` of the dynamic program, in this order.
  void add(const PrmBlocks &blocks, const std::vector<PrmOptions> &runs);
  void add(const PrmBlocks &blocks, const PrmPlan &plan);
  void add(Plan plan);
  Plan planOf(const PrmBlocks &blocks, const PrmPlan &found) const;
  bool tellsStages(const PrmBlocks &blocks, double budget) const;

  const Problem &problem;
  const Network &network;
  ChainCosts costs;
  StageRules rules;
  std::optional<MemoryTable> memory; ///< If some stage may not fit.
  std::vector<ExecutionOrder> memoryOrders;
  int64_t mostStages;
  size_t orders = 0;
  std::set<std::vector<int64_t>> known;
  std::vector<SppCandidate> found;
};

/// Whether `a` is preferred to `b` if their times are equal: fewer stages, then
/// earlier cuts, narrower stages, lower devices.
bool isBefore(const Plan &a, const Plan &b);

} // namespace stagewright

#endif // STAGEWRIGHT_PLANNING_SPPCANDIDATES_H
