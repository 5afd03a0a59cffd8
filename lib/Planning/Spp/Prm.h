//===- Prm.h - partition, replication and mapping ---------------*- C++ -*-===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The dynamic program of SPP (docs/planner.md, section 3) over one list of
// devices, from the last layer to the first:
//
//   V[l][b] = min value of layers l.. on block b and the devices after it
//           = min over l2 > l, next block d of
//               max( load(l..l2 on b), fill(l..l2 on b)
//                    + max( load(channel), fill(channel) + V[l2][d] ) )
//
// The fills are 0 for SPP's objective W; with them the value is the lower bound
// of the plan itself (docs/planner.md). For a fixed block the best next block
// for each l2 does not depend on l, and loads only grow with the interval, so a
// sliding window finds the min over l2: O(L) a block instead of O(L^2). For L
// layers and V devices it takes O(S L V^3) to find a plan for every number of
// stages up to S, and O(L V^3) for one plan; the plain recurrence takes L times
// as long. This requires that load plus fill do not shrink if a stage begins
// earlier. The exception is overlapped tails counted with both fills for a
// single microbatch: then the plan may not be optimal.
//
//===----------------------------------------------------------------------===//

#ifndef STAGEWRIGHT_PLANNING_PRM_H
#define STAGEWRIGHT_PLANNING_PRM_H

#include "MemoryTable.h"
#include "Spp/PrmBlocks.h"
#include "stagewright/Planning/AskedStages.h"
#include <limits>

namespace stagewright {

struct PrmOptions {
  /// Whether the fill includes the forward of the first microbatch and the
  /// backward of the last one.
  bool fillForward = false, fillBackward = false;
  double fillWeight = 1; ///< Factor of both.
  /// Whether a stage's load includes the tail of its all-reduce.
  bool countTail = true;
  /// By layer l: seconds of the last microbatch's backward from l to the first
  /// layer, in a plan similar to those searched for. Only the part of a tail
  /// that exceeds it counts. Empty: 0 for all.
  std::vector<double> drain;
  /// Loads may not exceed this; the value is then the fill alone.
  double cap = std::numeric_limits<double>::infinity();
  /// Finds a best plan for each number of stages up to this; 0: one plan with
  /// any number.
  int64_t byStages = 0;
  /// If set, stages must fit in memory under `memoryOrder`.
  const MemoryTable *memory = nullptr;
  ExecutionOrder memoryOrder = ExecutionOrder::CapA;
  /// Bytes that every device has in addition to its memory.
  int64_t extraMemory = 0;
  /// If set, plans have the stages that are asked for.
  const StageRules *rules = nullptr;

  bool mayCut(size_t layer) const { return !rules || rules->mayCut(layer); }
};

struct PrmStage {
  int64_t first = 0, end = 0; ///< Layers.
  size_t block = 0;           ///< Number in the list of blocks.
  bool recompute = false;
};

struct PrmPlan {
  double value = std::numeric_limits<double>::infinity();
  std::vector<PrmStage> stages; ///< Empty if there is no plan.
};

/// Best plans: entry s - 1 has s stages; without byStages a single entry.
/// Deterministic: of equal values, earlier cuts, then narrower stages win.
std::vector<PrmPlan> partitionReplicateMap(const Problem &problem,
                                           const ChainCosts &costs,
                                           const PrmBlocks &blocks,
                                           const PrmOptions &options);

/// Only the value of the best plan with any number of stages.
double leastValue(const Problem &problem, const ChainCosts &costs,
                  const PrmBlocks &blocks, const PrmOptions &options);

} // namespace stagewright

#endif // STAGEWRIGHT_PLANNING_PRM_H
