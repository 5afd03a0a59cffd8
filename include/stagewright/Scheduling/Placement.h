//===- Placement.h - which rank runs which stage ----------------*- C++ -*-===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Stages are numbered in the order of the forward. With one chunk per rank all
// placements except Twin are the same.
//
//   4 stages on 2 ranks   linear    loop      v         twin (2 stages)
//     rank 0              0 1       0 2       0 3       0 1
//     rank 1              2 3       1 3       1 2       1 0
//
//===----------------------------------------------------------------------===//

#ifndef STAGEWRIGHT_SCHEDULING_PLACEMENT_H
#define STAGEWRIGHT_SCHEDULING_PLACEMENT_H

#include "stagewright/Support/Result.h"
#include <cstdint>
#include <string_view>
#include <vector>

namespace stagewright {

enum class Placement {
  Linear, ///< Adjacent stages together: stage s on rank s / chunks.
  Loop,   ///< Stage s on rank s mod p.
  V,      ///< Alternating direction: stages p - 1 and p are both on rank p - 1.
  Twin    ///< As many stages as ranks, stage s on rank s and on rank p - 1 - s.
};

/// "linear", "loop", "v", "twin".
const char *toString(Placement placement);
Result<Placement> parsePlacement(std::string_view name);

/// The number of stages on `ranks` ranks: ranks * chunks, or ranks under Twin.
/// Under Loop `spare` fewer, if that many last ranks have no last chunk.
int64_t numStages(Placement placement, int64_t ranks, int64_t chunks,
                  int64_t spare = 0);

/// The rank of `stage`; under Twin the first of its two, `stage` itself.
int64_t rankOf(Placement placement, int64_t ranks, int64_t chunks,
               int64_t stage);

/// The stages of `rank` in increasing order; two under Twin.
std::vector<int64_t> stagesOf(Placement placement, int64_t ranks,
                              int64_t chunks, int64_t rank, int64_t spare = 0);

} // namespace stagewright

#endif // STAGEWRIGHT_SCHEDULING_PLACEMENT_H
