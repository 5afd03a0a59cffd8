//===- PipeDream.h - PipeDream's dynamic program ----------------*- C++ -*-===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// PipeDream's partitioner (Narayanan et al., SOSP 2019) on plain numbers. It
// divides a graph into stages and gives each a number of workers to minimise
// the seconds per minibatch of the slowest stage or transfer, which set the
// throughput of an asynchronous pipeline. It ignores fill, drain and the number
// of microbatches.
//
// The states of the program are the augmented antichains of the graph, in
// topological order. Stage [first, end) has the nodes of state end - 1 that are
// not in state first - 1. A chain has one state per node.
//
// The paper and the published optimizer differ in the cost of a stage of m
// replicas with P bytes of parameters and a bytes across a cut, at bandwidth B:
//   paper: max(compute, 2 (m - 1) P / B) / m, transfer across the cut before
//          the stage 2 a / B;
//   code:  (compute + 4 (m - 1) P / (B m)) / m, transfers across the cuts
//   before
//          and after a stage that follows a cut 2 a / (B m) each; the
//          all-reduce of the first stage of a level is divided by the width of
//          the level below.
//
//===----------------------------------------------------------------------===//

#ifndef STAGEWRIGHT_PLANNING_PIPEDREAM_H
#define STAGEWRIGHT_PLANNING_PIPEDREAM_H

#include "stagewright/Support/Result.h"
#include <cstdint>
#include <limits>

namespace stagewright {

/// A node of the forward graph.
struct PipeDreamNode {
  double seconds = 0; ///< Forward and backward of a minibatch.
  double outputBytes = 0, parameterBytes = 0;
  std::vector<size_t> successors;
};

/// An augmented antichain, with the sums over everything up to it.
struct PipeDreamState {
  double seconds = 0, parameterBytes = 0, activationBytes = 0;
  double outputBytes = 0;           ///< Over the augmented antichain.
  std::vector<size_t> nodes;        ///< Everything up to it; increasing.
  std::vector<size_t> predecessors; ///< All states before it; increasing.
};

/// The states of an acyclic graph; the last contains all nodes. Fails if there
/// are more than `limit`: their number is exponential in the width of the
/// graph. Several sources or sinks are joined by a node of zero cost.
Result<std::vector<PipeDreamState>>
pipeDreamStates(const std::vector<PipeDreamNode> &nodes, size_t limit);

/// The states if the nodes form a chain in the order of their numbers: cut i
/// carries every output of nodes up to i that is used after it.
std::vector<PipeDreamState>
chainStates(const std::vector<PipeDreamNode> &nodes);

enum class PipeDreamFormula { Paper, Code };

/// `width` components of the level below, connected at `bandwidth` bytes a
/// second.
struct PipeDreamLevel {
  int64_t width = 1;
  double bandwidth = 1;
};

struct PipeDreamOptions {
  PipeDreamFormula formula = PipeDreamFormula::Paper;
  /// Whether transfers take time, as in the published optimizer with a
  /// compression ratio of 1.
  bool countTransfers = true;
  bool useFewer = false; ///< Workers of a level may stay idle.
  /// Max replicas of a stage of one level; 0: no limit.
  int64_t maxReplicas = 0;
  /// Max bytes that a stage stashes: activations and parameters for each of
  /// ceil(w / m) minibatches in flight, with m replicas and w workers of later
  /// stages.
  double memory = std::numeric_limits<double>::infinity();
};

/// The states [first, end) on `replicas` replicas. Each replica runs `inner`,
/// the stages of the level below; empty at the innermost level, where a replica
/// is one worker.
struct PipeDreamStage {
  size_t first = 0, end = 0;
  int64_t replicas = 1;
  std::vector<PipeDreamStage> inner;
};

struct PipeDreamAnswer {
  double bottleneck = 0;              ///< Seconds per minibatch.
  std::vector<PipeDreamStage> stages; ///< Of the top level.
};

/// The optimum over all stages and replicas, level by level, the innermost
/// first. Ties: fewest stages, then latest last cut, then fewest replicas of
/// the last stage. Time for N states and levels of m workers: O(N^2 m^2) for
/// the top level and O(N^3 m^2) for each level below it, where ranges may start
/// at any state.
Result<PipeDreamAnswer>
solvePipeDream(const std::vector<PipeDreamState> &states,
               const std::vector<PipeDreamLevel> &levels,
               const PipeDreamOptions &options);

} // namespace stagewright

#endif // STAGEWRIGHT_PLANNING_PIPEDREAM_H
