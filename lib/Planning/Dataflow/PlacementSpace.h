//===- PlacementSpace.h - placements as sequences of decisions --*- C++ -*-===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The placements of a dataflow as a SearchSpace: there is one decision for each
// task, in order, which is its machine. Placements that exceed the slots of a
// machine cannot run; the moves of neighbour() avoid them.
//
//===----------------------------------------------------------------------===//

#ifndef STAGEWRIGHT_LIB_PLANNING_PLACEMENTSPACE_H
#define STAGEWRIGHT_LIB_PLANNING_PLACEMENTSPACE_H

#include "stagewright/Planning/Dataflow.h"

namespace stagewright {

class PlacementSpace : public SearchSpace {
public:
  PlacementSpace(const Dataflow &dataflow, LinkSharing sharing);

  std::vector<int64_t> choices(const Decisions &prefix) const override;
  long double count(const Decisions &prefix) const override;
  /// The time without any transfer.
  double bound(const Decisions &prefix) const override;
  Decisions stateOf(const Decisions &prefix) const override { return prefix; }
  std::vector<float> features(const Decisions &prefix) const override;
  size_t numFeatures() const override {
    return 1 + 2 * dataflow.machines.size();
  }
  Result<double> time(const Decisions &plan) const override;
  /// Shifts a task, swaps two, or pulls one to the machine of the task that
  /// sends it most.
  Decisions neighbour(const Decisions &plan,
                      SearchRandom &random) const override;
  std::vector<Decisions> references() const override;
  uint64_t digest() const override;

private:
  bool fits(const Decisions &plan) const;
  std::optional<size_t> heaviestProducer(size_t task) const;
  void shift(Decisions &plan, SearchRandom &random) const;
  void swap(Decisions &plan, SearchRandom &random) const;
  void pull(Decisions &plan, SearchRandom &random) const;

  const Dataflow &dataflow;
  LinkSharing sharing;
  std::vector<std::vector<int64_t>> machinesOf; ///< By task.
  std::vector<size_t> movable; ///< Tasks with several machines.
  double least = 0;            ///< Time without transfers.
  double loadSeconds = 1;      ///< For all bytes, spread evenly over all NICs.
  mutable PipelineSimulator simulator;
};

} // namespace stagewright

#endif // STAGEWRIGHT_LIB_PLANNING_PLACEMENTSPACE_H
