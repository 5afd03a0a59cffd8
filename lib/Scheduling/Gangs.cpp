//===- Gangs.cpp - ranks that share stages --------------------------------===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "stagewright/Scheduling/Gangs.h"
#include <algorithm>
#include <set>

namespace stagewright {

std::optional<Gangs> gangsOf(const ReplicaRanks &ranks) {
  // Pipelines side by side are alike.
  size_t copies = ranks.empty() ? 0 : ranks[0].size();
  if (copies == 0 ||
      std::any_of(ranks.begin(), ranks.end(),
                  [&](const auto &stage) { return stage.size() != copies; }))
    return std::nullopt;
  // The first rank that comes again ends the first level.
  Gangs gangs;
  std::set<int64_t> seen;
  for (const std::vector<int64_t> &stage : ranks)
    if (!seen.insert(stage[0]).second)
      break;
  gangs.ways = int64_t(seen.size());
  int64_t ways = gangs.ways, stages = ranks.size();
  if (ways < 2 || stages % ways != 0)
    return std::nullopt;
  for (int64_t level = 0; level < stages; level += ways) {
    int64_t gang = ranks[level][0] / ways;
    for (int64_t shard = 0; shard < ways; ++shard)
      if (ranks[level + shard][0] != gang * ways + shard)
        return std::nullopt;
    if (gangs.ranks.empty() || gangs.ranks.back() != gang) {
      gangs.ranks.push_back(gang);
      gangs.ends.push_back(level);
    }
    gangs.ends.back() = level + ways;
  }
  if (gangs.ranks.size() < 2 || (copies != 1 && !areReplicas(ranks)))
    return std::nullopt;
  return gangs;
}

Schedule runInGangs(const Schedule &schedule, const Gangs &gangs) {
  Schedule all = {schedule.kind, gangs.ends.back(), schedule.microbatches, {}};
  for (const Order &order : schedule.ranks)
    for (int64_t shard = 0; shard < gangs.ways; ++shard) {
      Order &own = all.ranks.emplace_back();
      for (const Action &action : order) {
        int64_t first = action.stage == 0 ? 0 : gangs.ends[action.stage - 1];
        auto begin = own.size();
        for (int64_t stage = first + shard; stage < gangs.ends[action.stage];
             stage += gangs.ways)
          own.push_back({action.kind, stage, action.microbatch});
        bool isForward = action.kind == ActionKind::Forward ||
                         action.kind == ActionKind::Recompute;
        if (!isForward)
          std::reverse(own.begin() + int64_t(begin), own.end());
      }
    }
  return all;
}

} // namespace stagewright
