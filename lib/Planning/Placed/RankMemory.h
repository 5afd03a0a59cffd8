//===- RankMemory.h - what a rank's stages hold together --------*- C++ -*-===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Private to this room: bytes of the stages of one rank under a schedule.
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

/// What a schedule makes a stage keep at most; within a B, what its I makes for
/// its W.
inline ByLife heldOf(const StashPeak &peak) {
  return {peak.activation, peak.held,
          std::max(peak.kept, std::min<int64_t>(peak.held, 1))};
}

/// What the stages of a rank hold together. They run one after the other, so
/// that the temporaries of one are enough; and where they are several, what
/// they made for their backwards may lie where that of another stage has lain
/// (RankToHost/StashFrames.h).
class RankMemory {
public:
  /// Under the schedule called `kind`.
  explicit RankMemory(std::string_view kind = {})
      : atOnce(slotsAtOnce(kind)), leaving(slotsLeaving(kind)) {}

  void add(StageMemory stage, ByLife inFlight, int64_t microbatches,
           int64_t number = 0);
  Bytes total() const {
    return kept + Bytes(std::min(rings, shared) + temporaries);
  }

  /// The stages run in this order, and share what they can: what lives at once,
  /// or with a packer what slots take, which is no less.
  void share(const Order &order, LifePacker *packer);
  /// What each stage, by its number, adds to the total.
  std::vector<std::pair<int64_t, Bytes>> parts() const;

private:
  struct Part {
    int64_t number;
    ByLife stash;
    Bytes kept;
    int64_t ring, temporaries;
  };
  int64_t atOnce, leaving;
  std::vector<Part> stages;
  Bytes kept; ///< But for stashes and temporaries.
  int64_t temporaries = 0, rings = 0;
  int64_t received = 0; ///< Of the stage that needs most of shared rings.
  int64_t shared = std::numeric_limits<int64_t>::max();
};

} // namespace stagewright

#endif // STAGEWRIGHT_PLANNING_RANKMEMORY_H
