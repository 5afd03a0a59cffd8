//===- RankMemory.h - memory of the stages of a rank ------------*- C++ -*-===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Private to the planners: bytes of the stages of one rank under a schedule.
//
//===----------------------------------------------------------------------===//

#ifndef STAGEWRIGHT_PLANNING_RANKMEMORY_H
#define STAGEWRIGHT_PLANNING_RANKMEMORY_H

#include "stagewright/Planning/Evaluate.h"
#include "stagewright/Scheduling/InFlight.h"
#include "stagewright/Support/Packing.h"
#include <algorithm>
#include <limits>

namespace stagewright {

/// Max microbatches that a schedule makes a stage keep. A B keeps what its I
/// makes for its W while it runs, so `between` is at least 1 if any is kept.
inline ByLife heldOf(const StashPeak &peak) {
  return {peak.activation, peak.held,
          std::max(peak.kept, std::min<int64_t>(peak.held, 1))};
}

/// Slots of a shared ring per message of a stage: two microbatches pass through
/// the stages at the same time, and of each, one message is being read, one has
/// arrived and one is in transit.
inline constexpr int64_t kSharedSlots = 6;

/// Memory of all stages of a rank. They run one after the other, so they share
/// one space for temporaries, as large as the most that a stage needs. The
/// stash of a stage may reuse the memory of another stage's stash
/// (BodiesToKernels/StashFrames.h).
class RankMemory {
public:
  /// `kind`: the name of the schedule.
  explicit RankMemory(std::string_view kind = {})
      : atOnce(slotsAtOnce(kind)), leaving(slotsLeaving(kind)) {}

  void add(StageMemory stage, ByLife inFlight, int64_t microbatches,
           int64_t number = 0);

  /// A value that one stage of the rank makes and another one reads.
  struct Passed {
    int64_t from; ///< Number of a stage.
    ActionKind fromPhase;
    int64_t to;
    ActionKind toPhase; ///< Of the last action of `to` that reads it.
    int64_t bytes;
  };
  /// To be called after add() of the stage `from`. `inFlight`: max number of
  /// microbatches for which the value exists at a time.
  void add(const Passed &value, int64_t inFlight);
  Bytes total() const { return with(shared); }

  /// Lets stashes of stages that run in `order` share memory. Counts what is
  /// live at the same time or, with a `packer`, what packed slots take, which
  /// is at least as much.
  void share(const Order &order, LifePacker *packer) {
    if (stages.size() > 1)
      share(stashLives(order), packer);
  }
  /// The same for an order with these lives.
  void share(const std::vector<StashLife> &lives, LifePacker *packer);
  /// Whether total() is at most `most` after share(). Packs only if the result
  /// depends on it.
  bool fits(const std::vector<StashLife> &lives, LifePacker *packer,
            Bytes most) const;
  bool fits(const Order &order, LifePacker *packer, Bytes most) const {
    return with(rings) <= most || fits(stashLives(order), packer, most);
  }
  /// The part of each stage, by its number, in the total.
  std::vector<std::pair<int64_t, Bytes>> parts() const;

private:
  struct Part {
    int64_t number;
    ByLife stash;
    Bytes kept;
    int64_t ring, temporaries;
  };
  std::vector<LiveItem> itemsOf(const std::vector<StashLife> &lives) const;
  void addPassed(const std::vector<StashLife> &lives,
                 std::vector<LiveItem> &items) const;
  Bytes with(int64_t shared) const {
    return kept + Bytes(std::min(rings, shared) + temporaries);
  }

  int64_t atOnce, leaving;
  std::vector<Part> stages;
  std::vector<Passed> passed;
  Bytes kept; ///< Without stashes and temporaries.
  int64_t temporaries = 0, rings = 0;
  int64_t received = 0; ///< Max over stages, in shared rings.
  int64_t shared = std::numeric_limits<int64_t>::max();
};

} // namespace stagewright

#endif // STAGEWRIGHT_PLANNING_RANKMEMORY_H
