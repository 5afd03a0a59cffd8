//===- Gangs.cpp - ranks that share stages --------------------------------===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "stagewright/Scheduling/Gangs.h"
#include "stagewright/Scheduling/StageGraph.h"
#include <algorithm>
#include <cassert>
#include <map>
#include <numeric>
#include <set>
#include <tuple>

namespace stagewright {

std::optional<size_t> firstWrong(const GangStages &stated) {
  for (size_t stage = 0; stage < stated.size(); ++stage) {
    if (stated[stage].has_value() != stated[0].has_value())
      return stage;
    int64_t own = stated[stage].value_or(0);
    int64_t before = stage == 0 ? 0 : stated[stage - 1].value_or(0);
    if (own != before && (stage == 0 || own != before + 1))
      return stage;
  }
  return std::nullopt;
}

std::optional<std::vector<int64_t>> Gangs::numbers() const {
  std::map<std::vector<int64_t>, int64_t> known;
  std::set<int64_t> seen; // The ranks of known gangs.
  std::vector<int64_t> result;
  for (const std::vector<int64_t> &own : ranks) {
    auto [entry, isNew] = known.try_emplace(own, int64_t(known.size()));
    for (int64_t rank : own)
      if (isNew && !seen.insert(rank).second)
        return std::nullopt;
    result.push_back(entry->second);
  }
  return result;
}

Result<Gangs> gangsOf(const ReplicaRanks &ranks, const GangStages &stated) {
  assert(ranks.size() == stated.size() && !ranks.empty());
  if (std::optional<size_t> wrong = firstWrong(stated))
    return Error{"stage " + std::to_string(*wrong) +
                 " has no number of its stage of the pipeline that follows "
                 "that of the stage before"};
  size_t copies = ranks.front().size();
  if (copies == 0)
    return Error{"stage 0 has no devices; give each stage at least one"};
  auto isOther = [&](const auto &own) { return own.size() != copies; };
  auto other = std::find_if(ranks.begin(), ranks.end(), isOther);
  if (other != ranks.end())
    return Error{"stage " + std::to_string(other - ranks.begin()) + " has " +
                 std::to_string(other->size()) + " devices, but stage 0 has " +
                 std::to_string(copies) +
                 "; copies of a pipeline of shards have all of its stages, so "
                 "give each stage as many devices"};
  if (copies > 1 && !areReplicas(ranks))
    return Error{"copies of a pipeline of shards share devices; stages that "
                 "share a device must share all of theirs, in one order"};
  Gangs gangs;
  for (size_t stage = 0; stage < ranks.size(); ++stage) {
    gangs.rankOf.push_back(ranks[stage].front());
    size_t own = size_t(stated[stage].value_or(0));
    gangs.ranks.resize(own + 1);
    gangs.ends.resize(own + 1);
    gangs.ranks[own].push_back(ranks[stage].front());
    gangs.ends[own] = int64_t(stage) + 1;
  }
  for (std::vector<int64_t> &own : gangs.ranks) {
    std::sort(own.begin(), own.end());
    own.erase(std::unique(own.begin(), own.end()), own.end());
  }
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

namespace {
/// Merges the orders of the stages of a pipeline into one.
class Merger {
public:
  /// Of forwards that could start, those of earlier stages come first if
  /// `byStage.forwards`, and of backwards those of later stages if
  /// `byStage.backwards`; else those of older microbatches.
  struct ByStage {
    bool forwards, backwards;
  };
  Merger(const Schedule &schedule, const Gangs &gangs, ByStage byStage)
      : orders(schedule.ranks), gangs(gangs), byStage(byStage),
        next(orders.size()),
        forwards(orders.size(), Ends(size_t(schedule.microbatches))),
        backwards(forwards) {}

  Order run();
  int64_t end() const { return last; }

private:
  using Time = int64_t;
  using Ends = std::vector<std::optional<Time>>; ///< By microbatch.

  std::optional<Time> arrivalOf(const Action &action) const;
  void start(const Action &action, Time time);

  const std::vector<Order> &orders; ///< By stage.
  const Gangs &gangs;
  ByStage byStage;
  std::vector<size_t> next; ///< By stage: the next action of its order.
  std::vector<Ends> forwards, backwards; ///< By stage: of F, and of B or I.
  std::map<int64_t, Time> free;          ///< By rank.
  Time last = 0;                         ///< The end of the last action.
};
} // namespace

/// When the value of another stage that `action` needs is there; none: the
/// action that makes it has not started.
std::optional<int64_t> Merger::arrivalOf(const Action &action) const {
  auto stage = size_t(action.stage), microbatch = size_t(action.microbatch);
  if (action.kind == ActionKind::Forward && stage > 0)
    return forwards[stage - 1][microbatch];
  if (runsPhase(action.kind, ActionKind::InputGradient) &&
      stage + 1 < orders.size())
    return backwards[stage + 1][microbatch];
  return 0;
}

void Merger::start(const Action &action, Time time) {
  auto stage = size_t(action.stage), microbatch = size_t(action.microbatch);
  time += action.kind == ActionKind::Backward ? 2 : 1;
  for (int64_t rank : gangs.ranks[stage])
    free[rank] = time;
  last = std::max(last, time);
  if (action.kind == ActionKind::Forward)
    forwards[stage][microbatch] = time;
  if (runsPhase(action.kind, ActionKind::InputGradient))
    backwards[stage][microbatch] = time;
}

Order Merger::run() {
  Order merged;
  size_t count = 0;
  for (const Order &order : orders)
    count += order.size();
  while (merged.size() < count) {
    // Start, kind, microbatch and stage; then the stage again.
    using Place = std::tuple<Time, int, int64_t, int64_t, size_t>;
    std::optional<Place> best;
    for (size_t stage = 0; stage < orders.size(); ++stage) {
      if (next[stage] == orders[stage].size())
        continue;
      const Action &action = orders[stage][next[stage]];
      std::optional<Time> time = arrivalOf(action);
      if (!time)
        continue;
      for (int64_t rank : gangs.ranks[stage])
        time = std::max(*time, free[rank]);
      int kind = runsPhase(action.kind, ActionKind::InputGradient) ? 0
                 : action.kind == ActionKind::Forward              ? 1
                                                                   : 2;
      bool skipsAge =
          (kind == 0 && byStage.backwards) || (kind == 1 && byStage.forwards);
      int64_t age = skipsAge ? 0 : action.microbatch;
      int64_t turn = int64_t(stage) * (kind == 1 && skipsAge ? 1 : -1);
      Place place = {*time, kind, age, turn, stage};
      best = std::min(best.value_or(place), place);
    }
    assert(best && "the orders of the stages wait for one another");
    size_t stage = std::get<4>(*best);
    merged.push_back(orders[stage][next[stage]++]);
    start(merged.back(), std::get<0>(*best));
  }
  return merged;
}

/// Whether the first stage runs at most two forwards for each stage before its
/// first other action. What it runs early waits in the memory of the others.
static bool hasShortWarmUp(const Schedule &schedule) {
  const Order &first = schedule.ranks.front();
  auto other =
      std::find_if(first.begin(), first.end(), [](const Action &action) {
        return action.kind != ActionKind::Forward;
      });
  return other - first.begin() <= 2 * ptrdiff_t(schedule.ranks.size());
}

Schedule runMerged(const Schedule &schedule, const Gangs &gangs) {
  Schedule one = {schedule.kind, schedule.stages, schedule.microbatches, {}};
  std::optional<int64_t> end;
  for (bool forwards : {false, true})
    for (bool backwards : {false, true}) {
      if (forwards && !hasShortWarmUp(schedule))
        continue;
      Merger merger(schedule, gangs, {forwards, backwards});
      Order order = merger.run();
      if (end && merger.end() >= *end)
        continue;
      end = merger.end();
      one.ranks = {std::move(order)};
    }
  return runInGangs(one, gangs);
}

} // namespace stagewright
