//===- Prm.h - partition, replication and mapping ---------------*- C++ -*-===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The dynamic program of SPP (planners.md 1.3, A.2) over one list of devices,
// from the tail:
//
//   V[l][b] = least value of layers l.. on block b and the devices behind it
//           = min over l2 > l, next block d of
//               max( load(l..l2 on b), fill(l..l2 on b)
//                    + max( load(channel), fill(channel) + V[l2][d] ) )
//
// The fills are 0 for SPP's objective W; with them the value is the lower bound
// of the plan itself (docs/planner.md). For a fixed block the best next block
// for each l2 does not depend on l, and loads only grow with the interval, so
// the minimum over l2 slides: O(L) a block and not O(L^2). In all O(S L V^3)
// for every number of stages and O(L V^3) without it; the plain recurrence
// takes O(S L^2 V^3). Load plus fill must not fall where a stage begins
// earlier, which holds but for overlapped tails counted together with both
// fills for a single microbatch; a plan found then need not be the best.
//
//===----------------------------------------------------------------------===//

#ifndef STAGEWRIGHT_PLANNING_PRM_H
#define STAGEWRIGHT_PLANNING_PRM_H

#include "MemoryTable.h"
#include "Spp/PrmBlocks.h"
#include <limits>

namespace stagewright {

struct PrmOptions {
  /// Whether the first microbatch's way there and the last one's way back
  /// count.
  bool fillForward = false, fillBackward = false;
  double fillWeight = 1; ///< How often they count.
  /// Whether the tail of the all-reduce is part of a stage's load.
  bool countTail = true;
  /// Seconds that the last microbatch still takes to go back from layer l, of
  /// a plan like those looked for; a tail counts as far as it is longer. Empty:
  /// 0 for all.
  std::vector<double> drain;
  /// Loads may not exceed this; the value is then the fill alone.
  double cap = std::numeric_limits<double>::infinity();
  /// A best plan for each number of stages up to this; 0: one plan, of
  /// whichever number.
  int64_t byStages = 0;
  /// Stages must fit into memory under this order.
  const MemoryTable *memory = nullptr;
  ExecutionOrder memoryOrder = ExecutionOrder::CapA;
  /// Bytes that every device is given beyond its own.
  int64_t extraMemory = 0;
};

struct PrmStage {
  int64_t first = 0, end = 0; ///< Layers.
  size_t block = 0;           ///< Number in the list of blocks.
  bool recompute = false;
};

struct PrmPlan {
  double value = std::numeric_limits<double>::infinity();
  std::vector<PrmStage> stages; ///< Empty: there is none.
};

/// Best plans: entry s - 1 with s stages, or a single one. Deterministic: of
/// equal values the one found first, earlier cuts and narrower stages first.
std::vector<PrmPlan> partitionReplicateMap(const Problem &problem,
                                           const ChainCosts &costs,
                                           const PrmBlocks &blocks,
                                           const PrmOptions &options);

/// The value alone of the best plan of whichever number of stages.
double leastValue(const Problem &problem, const ChainCosts &costs,
                  const PrmBlocks &blocks, const PrmOptions &options);

} // namespace stagewright

#endif // STAGEWRIGHT_PLANNING_PRM_H
