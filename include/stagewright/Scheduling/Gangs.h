//===- Gangs.h - ranks that share stages ------------------------*- C++ -*-===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The shards of layers are on several ranks: each level has one stage on each
// of them. For a schedule such a group of ranks, a gang, is one rank, and the
// consecutive levels that a microbatch passes on one gang are one stage. Here
// 10 stages are 2 stages of a pipeline of two gangs:
//
//   rank of stage    0 1 0 1 0 1   2 3 2 3
//   stage of gangs   0             1
//
// In a pipeline that goes to the last gang and back, two consecutive stages are
// on the last gang. The ranks of the stages do not show where the first of the
// two ends, and messages do not depend on it. So each gets half of the levels,
// even if the plan was cut elsewhere to balance their times.
//
//===----------------------------------------------------------------------===//

#ifndef STAGEWRIGHT_SCHEDULING_GANGS_H
#define STAGEWRIGHT_SCHEDULING_GANGS_H

#include "stagewright/Scheduling/Replicas.h"
#include <optional>

namespace stagewright {

struct Gangs {
  /// Ranks per gang; the first rank of gang g is g * ways. 0 if gangs may have
  /// different numbers of ranks; there are then as many stages as gangs.
  int64_t ways = 1;
  std::vector<int64_t> ranks;  ///< By stage of the gangs: its gang.
  std::vector<int64_t> ends;   ///< By stage of the gangs: end of its stages.
  std::vector<int64_t> rankOf; ///< By stage of the ranks.
};

/// The gangs of stages on `ranks`, for the first of several parallel pipelines.
/// None unless there are at least two gangs, some gang runs consecutive levels,
/// and every stage has one rank in each of the parallel pipelines. In a
/// pipeline that goes to each gang once, gangs may have different numbers of
/// ranks. Consecutive ranks with one stage each are then one gang: the stages
/// do not show where one of several gangs with a single level ends.
std::optional<Gangs> gangsOf(const ReplicaRanks &ranks);

/// All ranks as one gang: each runs all of its stages of a microbatch in turn.
Gangs oneGang(const ReplicaRanks &ranks);

/// `gangs`; if the pipeline goes to the last gang and back, and its stage on
/// the last gang has several levels, that stage is cut in two.
Gangs turnedBack(Gangs gangs);

/// Expands `schedule`, whose stages are those of `gangs`, to ranks: each rank
/// of a gang runs its own stages, in forward order for F and R, else reversed.
/// Since no stage waits for a stage that its gang runs later, and all ranks of
/// a gang have the same order, ranks wait for one another only as gangs do.
/// Paired actions become separate.
Schedule runInGangs(const Schedule &schedule, const Gangs &gangs);

} // namespace stagewright

#endif // STAGEWRIGHT_SCHEDULING_GANGS_H
