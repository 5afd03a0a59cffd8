//===- Baselines.cpp - published planners by name -------------------------===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "stagewright/Planning/Baselines/Baselines.h"

namespace stagewright {

static constexpr Planner kBaselines[] = {
    {"ideal-dp",
     "contiguous stages with the smallest maximum load, for any graph",
     planIdealDp},
    {"ideal-dp-linear", "like ideal-dp, but cuts only one order of the layers",
     planIdealDpLinear},
    {"branch-dp", "ideal-dp with branches contracted as in PipeDream",
     planBranchDp},
    {"local-search", "smallest maximum load, with several stages on a device",
     planLocalSearch},
    {"piper", "replicas, tensor-parallel ways and recomputed layers",
     planPiper},
    {"alpa", "least sum of stage times plus (M - 1) times the longest",
     planAlpa},
    {"straight", "one device a stage, balanced by time", planStraight},
    {"block-partition", "one device a stage, balanced as by torchgpipe",
     planBlockPartition},
    {"data-parallel", "one stage on all devices", planDataParallel},
    {"refine:ideal-dp", "", planRefined<planIdealDp>},
    {"refine:local-search", "", planRefined<planLocalSearch>},
    {"refine:alpa", "", planRefined<planAlpa>},
    {"refine:straight", "", planRefined<planStraight>},
    {"refine:data-parallel", "", planRefined<planDataParallel>},
};

void registerBaselines() {
  static const bool once = [] {
    addPlanners(kBaselines);
    return true;
  }();
  (void)once;
}

} // namespace stagewright
