//===- Gangs.cpp - ranks that share stages --------------------------------===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "stagewright/Scheduling/Gangs.h"
#include <algorithm>
#include <map>
#include <numeric>
#include <set>
#include <utility>

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

/// The gangs of a pipeline that goes to each of them once; none if all ranks
/// are in one gang, or no gang has several ranks with several levels.
static std::optional<Gangs> gangsInARow(const ReplicaRanks &ranks) {
  std::map<int64_t, size_t> last; // By rank: its last stage.
  for (size_t stage = 0; stage < ranks.size(); ++stage)
    last[ranks[stage][0]] = stage;
  Gangs gangs;
  gangs.ways = 0;
  bool hasLevels = false, isSingle = false; // The last gang has one level.
  for (size_t first = 0; first < ranks.size();) {
    size_t end = first + 1;
    for (size_t stage = first; stage < end; ++stage)
      end = std::max(end, last[ranks[stage][0]] + 1);
    bool wasSingle = std::exchange(isSingle, end == first + 1);
    hasLevels |= std::any_of(
        ranks.begin() + ptrdiff_t(first), ranks.begin() + ptrdiff_t(end),
        [&](const auto &stage) { return stage[0] != ranks[first][0]; });
    if (!(wasSingle && isSingle)) {
      gangs.ranks.push_back(int64_t(gangs.ranks.size()));
      gangs.ends.push_back(0);
    }
    gangs.ends.back() = int64_t(end);
    first = end;
  }
  return hasLevels && gangs.ranks.size() > 1 ? std::optional(gangs)
                                             : std::nullopt;
}

static std::vector<int64_t> firstsOf(const ReplicaRanks &ranks) {
  std::vector<int64_t> firsts;
  for (const std::vector<int64_t> &stage : ranks)
    firsts.push_back(stage[0]);
  return firsts;
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
  if (copies > 1 && !areReplicas(ranks))
    return std::nullopt;
  std::optional<Gangs> inARow = gangsInARow(ranks), found;
  for (int64_t ways = 2; !found && ways <= int64_t(seen.size()); ++ways) {
    found = gangsOf(ranks, ways);
    // Gangs to which a pipeline in a row goes several times are parts of gangs.
    if (found && inARow &&
        !std::is_sorted(found->ranks.begin(), found->ranks.end()))
      found.reset();
  }
  if (!found)
    found = copies == 1 ? inARow : std::nullopt;
  if (found)
    found->rankOf = firstsOf(ranks);
  return found;
}

Gangs oneGang(const ReplicaRanks &ranks) {
  Gangs gangs;
  gangs.ways = 0;
  gangs.ranks = {0};
  gangs.ends = {int64_t(ranks.size())};
  gangs.rankOf = firstsOf(ranks);
  return gangs;
}

Gangs turnedBack(Gangs gangs) {
  size_t last = gangs.ranks.size() / 2;
  for (size_t stage = 0; stage < gangs.ranks.size(); ++stage)
    if (gangs.ways == 0 || gangs.ranks.size() % 2 == 0 ||
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
  all.ranks.resize(
      size_t(1 + *std::max_element(gangs.rankOf.begin(), gangs.rankOf.end())));
  for (const Order &order : schedule.ranks)
    for (const Action &action : order) {
      std::vector<int64_t> stages(
          size_t(gangs.ends[action.stage] -
                 (action.stage == 0 ? 0 : gangs.ends[action.stage - 1])));
      std::iota(stages.begin(), stages.end(),
                gangs.ends[action.stage] - int64_t(stages.size()));
      bool isForward = action.kind == ActionKind::Forward ||
                       action.kind == ActionKind::Recompute;
      if (!isForward)
        std::reverse(stages.begin(), stages.end());
      for (int64_t stage : stages)
        all.ranks[size_t(gangs.rankOf[size_t(stage)])].push_back(
            {action.kind, stage, action.microbatch});
    }
  return all;
}

} // namespace stagewright
