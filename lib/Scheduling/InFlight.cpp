//===- InFlight.cpp - microbatches held between phases --------------------===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "stagewright/Scheduling/InFlight.h"
#include <algorithm>
#include <set>
#include <utility>

namespace stagewright {

namespace {

/// Counts the microbatches for which a rank keeps values of one stage.
class StageStash {
public:
  void run(const Action &action, bool recomputes);

  StashPeak peak;
  bool isHere = false, hasBackward = false;

private:
  int64_t held = 0, activation = 0, kept = 0, input = 0;
};

} // namespace

void StageStash::run(const Action &action, bool recomputes) {
  switch (action.kind) {
  case ActionKind::Forward:
    peak.held = std::max(peak.held, ++held);
    peak.activation = std::max(peak.activation, ++activation);
    if (recomputes) {
      --activation;
      peak.input = std::max(peak.input, ++input);
    }
    break;
  case ActionKind::Recompute:
    --input;
    peak.activation = std::max(peak.activation, ++activation);
    break;
  case ActionKind::InputGradient:
    --activation;
    peak.kept = std::max(peak.kept, ++kept);
    break;
  case ActionKind::WeightGradient:
    --kept;
    --held;
    hasBackward = true;
    break;
  case ActionKind::Backward:
    --activation;
    --held;
    hasBackward = true;
    break;
  case ActionKind::Update:
    break;
  }
}

std::vector<StashPeak> stashPeaks(const Schedule &schedule) {
  std::vector<StashPeak> peaks;
  std::vector<StageStash> stages(size_t(schedule.stages));
  for (size_t rank = 0; rank < schedule.ranks.size(); ++rank) {
    std::set<std::pair<int64_t, int64_t>> recomputed;
    std::set<int64_t> own;
    for (const Action &action : schedule.ranks[rank]) {
      if (action.kind == ActionKind::Recompute)
        recomputed.insert({action.stage, action.microbatch});
      if (!std::exchange(stages[size_t(action.stage)].isHere, true))
        own.insert(action.stage);
    }
    for (const Action &action : schedule.ranks[rank])
      stages[size_t(action.stage)].run(
          action, !recomputed.empty() &&
                      recomputed.contains({action.stage, action.microbatch}));
    for (int64_t stage : own) {
      StageStash stash = std::exchange(stages[size_t(stage)], {});
      peaks.push_back(stash.hasBackward ? stash.peak : StashPeak());
      peaks.back().rank = int64_t(rank);
      peaks.back().stage = stage;
    }
  }
  return peaks;
}

std::vector<StashLife> stashLives(const Order &order) {
  std::vector<StashLife> lives;
  // By stage and microbatch: the number of its life plus 1; 0: none.
  std::vector<std::vector<uint32_t>> numbers;
  auto numberOf = [&](const Action &action) -> uint32_t & {
    auto stage = size_t(action.stage), microbatch = size_t(action.microbatch);
    if (stage >= numbers.size())
      numbers.resize(stage + 1);
    std::vector<uint32_t> &own = numbers[stage];
    if (microbatch >= own.size())
      own.resize(std::max(2 * own.size(), microbatch + 1));
    return own[microbatch];
  };
  int64_t place = 0;
  for (const Action &action : order) {
    if (action.kind == ActionKind::Update)
      continue;
    uint32_t &number = numberOf(action);
    if (action.kind == ActionKind::Forward) {
      lives.push_back({action.stage, action.microbatch, place, -1, -1});
      number = uint32_t(lives.size());
    } else if (number > 0) {
      StashLife &life = lives[number - 1];
      if (action.kind == ActionKind::InputGradient ||
          action.kind == ActionKind::Backward)
        life.input = place;
      if (action.kind == ActionKind::WeightGradient ||
          action.kind == ActionKind::Backward)
        life.weight = place;
    }
    ++place;
  }
  std::erase_if(lives, [](const StashLife &life) {
    return life.input < 0 || life.weight < 0;
  });
  return lives;
}

int64_t slotsAtOnce(std::string_view kind) { return kind == "window" ? 3 : 2; }

int64_t slotsLeaving(std::string_view kind) { return kind == "gpipe" ? 2 : 1; }

std::vector<int64_t> stashedMicrobatches(const Schedule &schedule) {
  std::vector<int64_t> most(schedule.stages, 0);
  for (const StashPeak &peak : stashPeaks(schedule))
    most[peak.stage] = std::max(most[peak.stage], peak.held);
  return most;
}

} // namespace stagewright
