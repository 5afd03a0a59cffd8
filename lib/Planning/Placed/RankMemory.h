//===- RankMemory.h - what a rank's stages hold together --------*- C++ -*-===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Private to this room.
//
//===----------------------------------------------------------------------===//

#ifndef STAGEWRIGHT_PLANNING_RANKMEMORY_H
#define STAGEWRIGHT_PLANNING_RANKMEMORY_H

#include "stagewright/Planning/Evaluate.h"
#include "stagewright/Scheduling/InFlight.h"
#include <algorithm>

namespace stagewright {

/// What a schedule makes a stage keep at most; within a B, what its I makes for
/// its W.
inline ByLife heldOf(const StashPeak &peak) {
  return {peak.activation, peak.held,
          std::max(peak.kept, std::min<int64_t>(peak.held, 1))};
}

/// What the stages of a rank hold together: they run one after the other, so
/// that the temporaries of one are enough.
class RankMemory {
public:
  void add(StageMemory stage, ByLife inFlight, int64_t microbatches) {
    temporaries = std::max(temporaries, stage.temporaries);
    stage.temporaries = stage.sampleTemporaries = 0;
    kept += stage.with(inFlight, microbatches, 1);
  }
  Bytes total() const { return kept + Bytes(temporaries); }

private:
  Bytes kept;
  int64_t temporaries = 0;
};

} // namespace stagewright

#endif // STAGEWRIGHT_PLANNING_RANKMEMORY_H
