//===- Placement.cpp - which rank runs which stage ------------------------===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "stagewright/Scheduling/Placement.h"
#include "stagewright/Support/Names.h"

namespace stagewright {

static constexpr Named<Placement> kPlacements[] = {
    {Placement::Linear, "linear"},
    {Placement::Loop, "loop"},
    {Placement::V, "v"},
    {Placement::Twin, "twin"}};

const char *toString(Placement placement) {
  return nameIn(kPlacements, placement);
}

Result<Placement> parsePlacement(std::string_view name) {
  return valueIn(kPlacements, "placement", name);
}

int64_t numStages(Placement placement, int64_t ranks, int64_t chunks,
                  int64_t spare) {
  return placement == Placement::Twin ? ranks : ranks * chunks - spare;
}

int64_t rankOf(Placement placement, int64_t ranks, int64_t chunks,
               int64_t stage) {
  switch (placement) {
  case Placement::Linear:
    return stage / chunks;
  case Placement::Loop:
    return stage % ranks;
  case Placement::V:
    return stage / ranks % 2 == 0 ? stage % ranks : ranks - 1 - stage % ranks;
  case Placement::Twin:
    return stage;
  }
  return stage;
}

std::vector<int64_t> stagesOf(Placement placement, int64_t ranks,
                              int64_t chunks, int64_t rank, int64_t spare) {
  std::vector<int64_t> stages;
  for (int64_t s = 0; s < numStages(placement, ranks, chunks, spare); ++s)
    if (rankOf(placement, ranks, chunks, s) == rank ||
        (placement == Placement::Twin && ranks - 1 - s == rank))
      stages.push_back(s);
  return stages;
}

} // namespace stagewright
