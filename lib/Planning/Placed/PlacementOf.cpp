//===- PlacementOf.cpp - placement of the stages of a plan ----------------===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "stagewright/Planning/Placed.h"
#include <algorithm>

namespace stagewright {

bool fits(const Generator &generator, const StagePlacement &where) {
  bool twin = where.placement == Placement::Twin;
  if (twin || generator.placement == Placement::Twin)
    return twin && generator.placement == Placement::Twin;
  if (where.spare != 0 && !generator.anyStages)
    return false;
  return where.chunks >= generator.leastChunks &&
         (generator.mostChunks == 0 || where.chunks <= generator.mostChunks) &&
         (where.chunks == 1 || where.ranks == 1 ||
          where.placement == generator.placement || generator.isSearched);
}

static std::vector<int64_t> ranksOf(const StagePlacement &where,
                                    int64_t stage) {
  int64_t first = rankOf(where.placement, where.ranks, where.chunks, stage);
  if (where.placement != Placement::Twin)
    return {first};
  return {first, where.ranks - 1 - first};
}

static bool matches(const StagePlacement &where,
                    const std::vector<std::vector<int64_t>> &ranks) {
  for (size_t s = 0; s < ranks.size(); ++s)
    if (ranks[s] != ranksOf(where, int64_t(s)))
      return false;
  return true;
}

Result<StagePlacement>
placementOf(const std::vector<std::vector<int64_t>> &ranks) {
  int64_t count = 0;
  size_t most = 0;
  for (const std::vector<int64_t> &stage : ranks) {
    most = std::max(most, stage.size());
    for (int64_t rank : stage)
      count = std::max(count, rank + 1);
  }
  int64_t stages = ranks.size();
  if (most > 1) {
    StagePlacement twin = {Placement::Twin, count, 1};
    if (stages == count && count % 2 == 0 && matches(twin, ranks))
      return twin;
    return Error{"a stage lies on " + std::to_string(most) +
                 " devices, but the stages are neither twins (stage s on "
                 "device s and on its mirror image) nor replicas (stages that "
                 "share a device share all their devices, in the same order)"};
  }
  // In a loop, `spare` devices may have one chunk fewer than the others.
  int64_t spare = count == 0 ? 0 : (count - stages % count) % count;
  if (StagePlacement where = {Placement::Loop, count,
                              count == 0 ? 0 : (stages + spare) / count, spare};
      spare != 0 && stages > count && matches(where, ranks))
    return where;
  if (count == 0 || spare != 0)
    return Error{
        std::to_string(stages) + " stages lie on " + std::to_string(count) +
        " devices; schedules want equally many on each, or go round them in "
        "order"};
  for (Placement placement : {Placement::Linear, Placement::Loop, Placement::V})
    if (StagePlacement where = {placement, count, stages / count};
        matches(where, ranks))
      return where;
  return Error{std::to_string(stages) + " stages lie on " +
               std::to_string(count) +
               " devices in an order that is not linear, loop or v; partition "
               "with chunks= and placement="};
}

std::optional<Gangs> gangsFor(const ReplicaRanks &ranks, bool areShards) {
  std::optional<Gangs> gangs = gangsOf(ranks);
  bool isOne = !gangs && areShards && !ranks.empty() &&
               std::all_of(ranks.begin(), ranks.end(),
                           [](const auto &own) { return own.size() == 1; }) &&
               !placementOf(ranks);
  return isOne ? oneGang(ranks) : gangs;
}

Result<Schedule> generateInGangs(const Generator &generator, Gangs gangs,
                                 ScheduleShape shape,
                                 const ReplicaRanks &ofStages) {
  if (generator.isSearched)
    return Error{std::string(generator.name) +
                 " is not for stages that several devices share; take a "
                 "schedule that goes by a rule, such as 1f1b"};
  if (generator.placement == Placement::V)
    gangs = turnedBack(std::move(gangs));
  std::vector<std::vector<int64_t>> ranks;
  for (int64_t gang : gangs.ranks)
    ranks.push_back({gang});
  Result<StagePlacement> where = placementOf(ranks);
  if (!where)
    return where.error();
  if (!fits(generator, *where))
    return Error{demandOf(generator)};
  shape.ranks = where->ranks;
  shape.chunks = where->chunks;
  shape.spare = where->spare;
  auto make = [&](int64_t microbatches) -> Result<Schedule> {
    shape.microbatches = microbatches;
    Result<Schedule> made = generator.generate(shape);
    return made ? runInGangs(*made, gangs) : made;
  };
  return pipelinesOf(ofStages) > 1
             ? sideBySide(make, shape.microbatches, ofStages)
             : make(shape.microbatches);
}

} // namespace stagewright
