//===- Gangs.h - ranks that share stages ------------------------*- C++ -*-===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The shards of layers are on several ranks: each level has one stage on each
// of them. A stage of the pipeline is the consecutive levels that a microbatch
// passes on one group of ranks, a gang; the plan states which it is for each
// stage of a rank. Here 10 stages are 2 stages of a pipeline:
//
//   rank of stage           0 1 0 1 0 1   2 3 2 3
//   stage of the pipeline   0             1
//
// If any two gangs are equal or have no rank in common, and they are placed as
// a schedule requires, a gang is one rank for it, whatever its size. Else, such
// as where a pipeline returns to a gang, runMerged() orders the pipeline.
//
//===----------------------------------------------------------------------===//

#ifndef STAGEWRIGHT_SCHEDULING_GANGS_H
#define STAGEWRIGHT_SCHEDULING_GANGS_H

#include "stagewright/Scheduling/Replicas.h"
#include <optional>

namespace stagewright {

/// By stage: the stage of the pipeline that it is a part of, if that is stated.
using GangStages = std::vector<std::optional<int64_t>>;

/// The first stage whose number breaks the rule: all stages state one or none
/// does, the first states 0, and each other one the same as the stage before or
/// one more. None if all follow it.
std::optional<size_t> firstWrong(const GangStages &stated);

struct Gangs {
  std::vector<std::vector<int64_t>>
      ranks;                   ///< By stage of the pipeline, sorted.
  std::vector<int64_t> ends;   ///< By stage of the pipeline: end of its stages.
  std::vector<int64_t> rankOf; ///< By stage of the ranks.

  /// By stage of the pipeline: the number of its gang, in the order of their
  /// first stages. None if two gangs that are not equal have a common rank.
  std::optional<std::vector<int64_t>> numbers() const;
};

/// The gangs of stages on `ranks`, which are parts of `stated`, for the first
/// of several parallel pipelines. Fails if the numbers break the rule of
/// firstWrong(), or if a stage does not have one rank in each pipeline.
Result<Gangs> gangsOf(const ReplicaRanks &ranks, const GangStages &stated);

/// Expands `schedule`, whose stages are those of the pipeline of `gangs`, to
/// ranks: each rank of a gang runs its own stages, in forward order for F and
/// R, else reversed. Since no stage waits for a stage that its gang runs later,
/// and all ranks of a gang have the same order, ranks wait for one another only
/// as gangs do. Paired actions become separate.
Schedule runInGangs(const Schedule &schedule, const Gangs &gangs);

/// The same for a `schedule` that has a rank for each stage of the pipeline,
/// though gangs have ranks in common, or run several of the stages. Each stage
/// keeps its order. An action starts as soon as what it waits for is there and
/// all ranks of its gang are free, if all take equal times, or B twice that. Of
/// several that could start, backwards come first, then forwards, and of these
/// older microbatches; or, if all then end earlier, backwards of later stages,
/// or forwards of earlier ones, the latter only if the first stage begins with
/// at most two forwards for each stage: the messages of all microbatches of an
/// inference or of GPipe would wait in memory. Each rank runs its actions in
/// the order of these starts. That is one order for all ranks in which no
/// action precedes one that it waits for, so no ranks wait for one another in a
/// cycle. Time O(actions * stages * ranks of a gang).
Schedule runMerged(const Schedule &schedule, const Gangs &gangs);

} // namespace stagewright

#endif // STAGEWRIGHT_SCHEDULING_GANGS_H
