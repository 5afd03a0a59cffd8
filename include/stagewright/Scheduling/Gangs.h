//===- Gangs.h - ranks that share stages ------------------------*- C++ -*-===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The shards of layers lie on several ranks side by side: level by level one
// stage on each of them. To a schedule these ranks, a gang, are one rank, and
// all levels that a microbatch passes before it goes on to other ranks are one
// stage. Here 10 stages are 2 of a pipeline of two gangs:
//
//   rank of stage    0 1 0 1 0 1   2 3 2 3
//   stage of gangs   0             1
//
//===----------------------------------------------------------------------===//

#ifndef STAGEWRIGHT_SCHEDULING_GANGS_H
#define STAGEWRIGHT_SCHEDULING_GANGS_H

#include "stagewright/Scheduling/Replicas.h"
#include <optional>

namespace stagewright {

struct Gangs {
  int64_t ways = 1;           ///< Ranks of each: r * ways and behind of gang r.
  std::vector<int64_t> ranks; ///< By stage of the gangs: which gang has it.
  std::vector<int64_t> ends;  ///< By stage of the gangs: behind its last stage.
};

/// The gangs that stages on `ranks` make up, of the first of several pipelines
/// side by side; nothing where stages have several ranks otherwise, or where
/// there are no two gangs of two ranks or more.
std::optional<Gangs> gangsOf(const ReplicaRanks &ranks);

/// `schedule`, of stages of `gangs`, rank by rank: whoever is in a gang runs
/// its own stages in the order of the forward, or backwards. As no stage waits
/// for a later one of its gang, and all of a gang keep to one order, ranks wait
/// for one another only as gangs do. Pairs come apart.
Schedule runInGangs(const Schedule &schedule, const Gangs &gangs);

} // namespace stagewright

#endif // STAGEWRIGHT_SCHEDULING_GANGS_H
