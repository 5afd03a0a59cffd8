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

/// The gangs of `ways` ranks; none unless some gang has consecutive levels,
/// since otherwise stages just go round the ranks one by one.
static std::optional<Gangs> gangsOf(const ReplicaRanks &ranks, int64_t ways) {
  Gangs gangs;
  gangs.ways = ways;
  int64_t stages = ranks.size();
  if (stages % ways != 0)
    return std::nullopt;
  bool hasLevels = false;
  for (int64_t level = 0; level < stages; level += ways) {
    int64_t gang = ranks[level][0] / ways;
    for (int64_t shard = 0; shard < ways; ++shard)
      if (ranks[level + shard][0] != gang * ways + shard)
        return std::nullopt;
    bool goesOn = !gangs.ranks.empty() && gangs.ranks.back() == gang;
    hasLevels |= goesOn;
    if (!goesOn) {
      gangs.ranks.push_back(gang);
      gangs.ends.push_back(level);
    }
    gangs.ends.back() = level + ways;
  }
  return hasLevels && gangs.ranks.size() > 1 ? std::optional(gangs)
                                             : std::nullopt;
}

std::optional<Gangs> gangsOf(const ReplicaRanks &ranks) {
  // Parallel pipelines have equal gangs, so the first one is enough.
  size_t copies = ranks.empty() ? 0 : ranks[0].size();
  if (copies == 0 ||
      std::any_of(ranks.begin(), ranks.end(),
                  [&](const auto &stage) { return stage.size() != copies; }))
    return std::nullopt;
  // A gang has at most as many ranks as precede the first repeated rank.
  std::set<int64_t> seen;
  for (const std::vector<int64_t> &stage : ranks)
    if (!seen.insert(stage[0]).second)
      break;
  for (int64_t ways = 2; ways <= int64_t(seen.size()); ++ways)
    if (std::optional<Gangs> gangs = gangsOf(ranks, ways);
        gangs && (copies == 1 || areReplicas(ranks)))
      return gangs;
  return std::nullopt;
}

Gangs turnedBack(Gangs gangs) {
  size_t last = gangs.ranks.size() / 2;
  for (size_t stage = 0; stage < gangs.ranks.size(); ++stage)
    if (gangs.ranks.size() % 2 == 0 ||
        gangs.ranks[stage] != int64_t(std::min(stage, 2 * last - stage)))
      return gangs;
  int64_t first = last == 0 ? 0 : gangs.ends[last - 1];
  int64_t levels = (gangs.ends[last] - first) / gangs.ways;
  if (levels < 2)
    return gangs;
  gangs.ranks.insert(gangs.ranks.begin() + int64_t(last), int64_t(last));
  gangs.ends.insert(gangs.ends.begin() + int64_t(last),
                    first + levels / 2 * gangs.ways);
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
