//===- Replicas.cpp - stages whose replicas take turns --------------------===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "stagewright/Scheduling/Replicas.h"
#include <algorithm>
#include <map>
#include <set>

namespace stagewright {

bool areReplicas(const ReplicaRanks &ranks) {
  std::map<int64_t, const std::vector<int64_t> *> together; // By rank.
  bool several = false;
  for (const std::vector<int64_t> &stage : ranks) {
    several |= stage.size() > 1;
    for (int64_t rank : stage)
      if (*together.try_emplace(rank, &stage).first->second != stage)
        return false;
  }
  return several;
}

int64_t pipelinesOf(const ReplicaRanks &ranks) {
  auto count = int64_t(ranks.front().size());
  bool equal = std::all_of(ranks.begin(), ranks.end(), [&](const auto &stage) {
    return int64_t(stage.size()) == count;
  });
  return equal ? count : 1;
}

int64_t microbatchesOf(int64_t number, int64_t pipelines,
                       int64_t microbatches) {
  return (microbatches - number + pipelines - 1) / pipelines;
}

static int64_t rankCount(const ReplicaRanks &ranks) {
  int64_t count = 0;
  for (const std::vector<int64_t> &stage : ranks)
    for (int64_t rank : stage)
      count = std::max(count, rank + 1);
  return count;
}

Schedule dealInTurn(const Schedule &schedule, const ReplicaRanks &ranks) {
  Schedule dealt = schedule;
  dealt.ranks.assign(rankCount(ranks), {});
  for (const Order &order : schedule.ranks)
    for (Action action : order) {
      const std::vector<int64_t> &replicas = ranks[action.stage];
      if (replicas.size() > 1)
        action.paired = false;
      dealt.ranks[replicas[action.microbatch % int64_t(replicas.size())]]
          .push_back(action);
    }
  return dealt;
}

Result<Schedule> sideBySide(const MakeSchedule &make, int64_t microbatches,
                            const ReplicaRanks &ranks) {
  int64_t pipelines = pipelinesOf(ranks);
  std::map<int64_t, Schedule> made; // By number of microbatches.
  Schedule all;
  for (int64_t k = 0; k < std::min(pipelines, microbatches); ++k) {
    int64_t count = microbatchesOf(k, pipelines, microbatches);
    if (!made.contains(count)) {
      Result<Schedule> one = make(count);
      if (!one)
        return Error{
            one.error().message + "; one of " + std::to_string(pipelines) +
            " pipelines side by side runs " + std::to_string(count) +
            " of the " + std::to_string(microbatches) + " microbatches"};
      made[count] = std::move(*one);
    }
    const Schedule &one = made[count];
    if (k == 0) {
      all = {one.kind, one.stages, microbatches, {}};
      all.ranks.resize(rankCount(ranks));
    }
    for (const Order &order : one.ranks)
      for (Action action : order) {
        action.microbatch = action.microbatch * pipelines + k;
        all.ranks[ranks[action.stage][k]].push_back(action);
      }
  }
  return all;
}

Result<Schedule> generateInTurn(const Generator &generator, ScheduleShape shape,
                                const ReplicaRanks &ranks) {
  if (pipelinesOf(ranks) > 1) {
    auto make = [&](int64_t microbatches) {
      shape.microbatches = microbatches;
      return generator.generate(shape);
    };
    return sideBySide(make, shape.microbatches, ranks);
  }
  if (int64_t(ranks.size()) == shape.ranks)
    for (const std::vector<int64_t> &stage : ranks)
      shape.replicas.push_back(int64_t(stage.size()));
  Result<Schedule> made = generator.generate(shape);
  return made ? dealInTurn(*made, ranks) : made;
}

std::vector<int64_t> ranksOfPipeline(const ReplicaRanks &ranks,
                                     int64_t number) {
  std::set<int64_t> own;
  for (const std::vector<int64_t> &stage : ranks)
    own.insert(stage[number]);
  return {own.begin(), own.end()};
}

Schedule oneOf(const Schedule &schedule, const ReplicaRanks &ranks,
               int64_t number) {
  int64_t pipelines = pipelinesOf(ranks);
  Schedule one = schedule;
  one.microbatches = microbatchesOf(number, pipelines, schedule.microbatches);
  one.ranks.clear();
  for (int64_t rank : ranksOfPipeline(ranks, number)) {
    one.ranks.push_back(schedule.ranks[rank]);
    for (Action &action : one.ranks.back())
      action.microbatch /= pipelines;
  }
  return one;
}

} // namespace stagewright
