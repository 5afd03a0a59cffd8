//===- Dependences.h - what each action waits for ---------------*- C++ -*-===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The graph that the verifier and the simulator walk: the actions of a schedule
// with, beside the order of each rank, what each waits for:
//
//  * within a stage, I for F (and for R), W for I, U for every W;
//  * along an edge, the first use for the producer of the same microbatch;
//  * along an edge of depth d, the producer of m for the last use of m - d.
//
// A send completes only when its receive is posted; a receive is posted when
// its slot is free. So the third rule is the rendezvous of contract D. Building
// it takes time linear in the actions times the edges of a stage.
//
//===----------------------------------------------------------------------===//

#ifndef STAGEWRIGHT_SCHEDULING_DEPENDENCES_H
#define STAGEWRIGHT_SCHEDULING_DEPENDENCES_H

#include "stagewright/Scheduling/StageGraph.h"

namespace stagewright {

/// One thing that an action waits for, beside the action before it on its rank.
struct Dependence {
  size_t on = 0;                   ///< Number of the action waited for.
  const StageEdge *edge = nullptr; ///< None within a stage.
  bool slot = false;               ///< Waits for a free slot, not for data.
};

/// A schedule's actions, numbered rank by rank, with their dependences.
class Dependences {
public:
  /// Checks that every stage runs every phase of every microbatch exactly once
  /// and builds the graph. `schedule` and `graph` must outlive the result.
  static Result<Dependences> create(const Schedule &schedule,
                                    const StageGraph &graph);

  size_t size() const { return actions.size(); }
  const Action &action(size_t number) const { return actions[number]; }
  int64_t rank(size_t number) const { return ranks[number]; }
  int64_t numRanks() const { return static_cast<int64_t>(starts.size()) - 1; }
  /// Number of the first action of `rank`; `begin(numRanks())` is size().
  size_t begin(int64_t rank) const { return starts[rank]; }
  const std::vector<Dependence> &of(size_t number) const {
    return waits[number];
  }
  /// Number of the action that runs `phase` of `microbatch`, or size().
  size_t find(StagePhase phase, int64_t microbatch) const;

  /// An order in which the actions can run, each rank in its own order. Shorter
  /// than size() if the ranks cannot all finish.
  std::vector<size_t> executionOrder() const;

private:
  Status index(const Schedule &schedule, const StageGraph &graph);
  void addWaits(const StageGraph &graph);

  std::vector<Action> actions;
  std::vector<int64_t> ranks;
  std::vector<size_t> starts;
  std::vector<std::vector<Dependence>> waits;
  int64_t microbatches = 0;
  /// Action that runs (stage, phase, microbatch), stage major.
  std::vector<size_t> byPhase;
};

} // namespace stagewright

#endif // STAGEWRIGHT_SCHEDULING_DEPENDENCES_H
