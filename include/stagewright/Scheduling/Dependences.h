//===- Dependences.h - the actions that each action waits for ---*- C++ -*-===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The graph that the verifier and the simulator traverse: the actions of a
// schedule, in the order of each rank, with their other dependences:
//
//  * within a stage, I waits for F (and for R, which waits for F), W waits for
//    I, and U for every W;
//  * along an edge, the first use waits for the producer of the microbatch;
//  * along an edge of depth d, the producer of a microbatch waits for the last
//    use of the microbatch d before it. Only microbatches that are sent between
//    the same two ranks are counted (all of them, unless a stage is on several
//    ranks, as under Twin).
//
// A send completes only when its receive is posted; a receive is posted when
// its slot is free. So the third rule is the rendezvous of a channel. A pair
// is one block: neither action starts before both can, and both end together; a
// program may overlap them or not. Building the graph takes time and memory
// linear in the actions times the edges of a stage, in a few flat arrays.
//
//===----------------------------------------------------------------------===//

#ifndef STAGEWRIGHT_SCHEDULING_DEPENDENCES_H
#define STAGEWRIGHT_SCHEDULING_DEPENDENCES_H

#include "stagewright/Scheduling/StageGraph.h"
#include <span>

namespace stagewright {

/// A dependence of an action, other than on the action before it on its rank.
struct Dependence {
  size_t on = 0;                   ///< Number of the action waited for.
  const StageEdge *edge = nullptr; ///< None within a stage.
  bool slot = false;               ///< Waits for a free slot, not for data.
};

/// A schedule's actions, numbered rank by rank, with their dependences.
class Dependences {
public:
  /// Checks that every stage runs every phase of every microbatch exactly once,
  /// with all phases of one microbatch and stage on one rank (which holds the
  /// stash), that updates are complete if there are any, and that pairs are
  /// valid; then builds the graph. Most errors include a drawing. `graph` must
  /// outlive it.
  static Result<Dependences> create(const Schedule &schedule,
                                    const StageGraph &graph);

  size_t size() const { return actions.size(); }
  const Action &action(size_t number) const { return actions[number]; }
  int64_t rank(size_t number) const { return ranks[number]; }
  int64_t numRanks() const { return static_cast<int64_t>(starts.size()) - 1; }
  int64_t numMicrobatches() const { return microbatches; }
  /// Number of the first action of `rank`; `begin(numRanks())` is size().
  size_t begin(int64_t rank) const { return starts[rank]; }
  /// The place of action `number` in the order of its rank.
  size_t step(size_t number) const { return number - starts[ranks[number]]; }
  /// The number after the last action of the block that starts at `number`:
  /// number + 2 for a pair, else number + 1.
  size_t blockEnd(size_t number) const {
    bool pair =
        number + 1 < starts[ranks[number] + 1] && actions[number + 1].paired;
    return number + (pair ? 2 : 1);
  }
  std::span<const Dependence> of(size_t number) const {
    return {waits.data() + waitsFrom[number],
            waits.data() + waitsFrom[number + 1]};
  }
  /// Number of the action that runs `phase` (F, I, W or R) of `microbatch`, or
  /// size().
  size_t find(StagePhase phase, int64_t microbatch) const;

  /// An order in which the actions can run, each rank in its own order. Shorter
  /// than size() if the ranks cannot all finish. Linear in the dependences.
  std::vector<size_t> executionOrder() const;

private:
  Status index(const Schedule &schedule, const StageGraph &graph);
  Status enter(const Schedule &schedule, int64_t rank, size_t step);
  Status checkPhases(const Schedule &schedule, bool forwardOnly) const;
  std::vector<size_t> nearest(int64_t stage, int64_t microbatch) const;
  ActionKind missing(ActionKind phase, int64_t stage, int64_t microbatch) const;
  std::string twice(size_t first, size_t second) const;
  Status checkUpdates(const Schedule &schedule) const;
  Error errorAbout(const std::string &message, const Schedule &schedule,
                   const std::vector<size_t> &numbers) const;
  std::vector<int64_t> slotsBefore(const StageEdge &edge) const;
  void addWaits(const StageGraph &graph);

  std::vector<Action> actions;
  std::vector<int64_t> ranks;
  std::vector<size_t> starts;    ///< By rank.
  std::vector<size_t> waitsFrom; ///< By action: where its waits start.
  std::vector<Dependence> waits;
  int64_t stages = 0, microbatches = 0;
  /// Action that runs (stage, phase, microbatch), stage major.
  std::vector<size_t> byPhase;
};

} // namespace stagewright

#endif // STAGEWRIGHT_SCHEDULING_DEPENDENCES_H
