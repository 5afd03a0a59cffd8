//===- Baselines.cpp - published planners by name -------------------------===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "stagewright/Planning/Baselines/Baselines.h"

namespace stagewright {

static constexpr Planner kBaselines[] = {
    {"ideal-dp", "contiguous stages of least maximum load, of any graph",
     planIdealDp},
    {"ideal-dp-linear", "the same along one order of the layers",
     planIdealDpLinear},
    {"branch-dp", "ideal-dp with branches contracted as in PipeDream",
     planBranchDp},
    {"local-search", "least maximum load where devices may hold several stages",
     planLocalSearch},
    {"piper", "replicas, tensor-parallel ways and recomputed layers",
     planPiper},
    {"alpa", "least sum of stages plus (M - 1) times the slowest", planAlpa},
    {"straight", "one device a stage, balanced by time", planStraight},
    {"block-partition", "one device a stage, balanced as in torchgpipe",
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
