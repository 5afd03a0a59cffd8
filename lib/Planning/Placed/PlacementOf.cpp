//===- PlacementOf.cpp - placement of the stages of a plan ----------------===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "stagewright/Planning/Placed.h"
#include <algorithm>
#include <numeric>

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

/// "0, 1, 0": the gangs of the stages of a pipeline, or the ranks of each gang
/// if gangs overlap, "0+1, 1+2".
static std::string textOf(const Gangs &gangs) {
  std::optional<std::vector<int64_t>> numbers = gangs.numbers();
  std::string text;
  for (size_t stage = 0; stage < gangs.ranks.size(); ++stage) {
    text += stage == 0 ? "" : ", ";
    if (numbers) {
      text += std::to_string((*numbers)[stage]);
      continue;
    }
    for (size_t i = 0; i < gangs.ranks[stage].size(); ++i)
      text += (i == 0 ? "" : "+") + std::to_string(gangs.ranks[stage][i]);
  }
  return text;
}

/// The placement of the stages of a pipeline of `gangs`, if each gang is one
/// rank.
static std::optional<StagePlacement> placementOf(const Gangs &gangs) {
  std::optional<std::vector<int64_t>> numbers = gangs.numbers();
  if (!numbers)
    return std::nullopt;
  std::vector<std::vector<int64_t>> ranks;
  for (int64_t gang : *numbers)
    ranks.push_back({gang});
  Result<StagePlacement> where = placementOf(ranks);
  return where ? std::optional(*where) : std::nullopt;
}

/// The schedule of `generator` for one pipeline.
static Result<Schedule> generateInGangs(const Generator &generator,
                                        const Gangs &gangs,
                                        ScheduleShape shape) {
  std::optional<StagePlacement> where = placementOf(gangs);
  if (where && fits(generator, *where) &&
      (where->ranks > 1 || !generator.goesByLevels)) {
    shape.ranks = where->ranks;
    shape.chunks = where->chunks;
    shape.spare = where->spare;
    Result<Schedule> made = generator.generate(shape);
    return made ? runInGangs(*made, gangs) : made;
  }
  if (generator.goesByLevels) {
    shape.chunks = int64_t(gangs.rankOf.size());
    Result<Schedule> made = generator.generate(shape);
    Gangs levels = gangs; // Each stage of a rank alone.
    levels.ends.resize(gangs.rankOf.size());
    std::iota(levels.ends.begin(), levels.ends.end(), 1);
    return made ? runInGangs(*made, levels) : made;
  }
  if (generator.leastChunks == 1 && generator.placement != Placement::Twin) {
    shape.ranks = int64_t(gangs.ranks.size());
    Result<Schedule> made = generator.generate(shape);
    return made ? runMerged(*made, gangs) : made;
  }
  bool isTwin = generator.placement == Placement::Twin;
  return Error{"'" + std::string(generator.name) + "' wants " +
               (isTwin ? "each stage of a pipeline on two gangs"
                       : "the stages of a pipeline placed " +
                             std::string(toString(generator.placement)) + ", " +
                             std::to_string(generator.leastChunks) +
                             (generator.mostChunks == 0 ? " or more" : "") +
                             " on each gang") +
               ", but they are on gangs " + textOf(gangs) +
               "; take a schedule with one stage on each, such as 1f1b, or "
               "place them otherwise"};
}

Result<Schedule> generateInGangs(const Generator &generator,
                                 const ReplicaRanks &ranks,
                                 const GangStages &stated,
                                 const ScheduleShape &shape) {
  if (generator.isSearched)
    return Error{std::string(generator.name) +
                 " is not for stages that several devices share; take a "
                 "schedule that goes by a rule, such as 1f1b"};
  Result<Gangs> gangs = gangsOf(ranks, stated);
  if (!gangs)
    return gangs.error();
  auto make = [&](int64_t microbatches) {
    ScheduleShape own = shape;
    own.microbatches = microbatches;
    return generateInGangs(generator, *gangs, own);
  };
  return pipelinesOf(ranks) > 1 ? sideBySide(make, shape.microbatches, ranks)
                                : make(shape.microbatches);
}

} // namespace stagewright
