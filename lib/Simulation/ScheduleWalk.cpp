//===- ScheduleWalk.cpp - critical path of a timed schedule ---------------===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ScheduleWalk.h"
#include <algorithm>

namespace stagewright {

/// Whether an action computes the gradient of its stage's inputs.
static bool isBack(const Action &action) {
  return action.kind == ActionKind::Backward ||
         action.kind == ActionKind::InputGradient;
}

ScheduleWalk::ScheduleWalk(const Schedule &schedule,
                           const ScheduleProblem &problem,
                           const Timeline &timing)
    : schedule(schedule), problem(problem), timing(timing),
      places(2 * size_t(schedule.stages * schedule.microbatches)) {
  for (size_t rank = 0; rank < schedule.ranks.size(); ++rank)
    for (size_t i = 0; i < schedule.ranks[rank].size(); ++i) {
      const Action &action = schedule.ranks[rank][i];
      if (action.kind == ActionKind::Forward || isBack(action))
        places[(isBack(action) * schedule.stages + action.stage) *
                   schedule.microbatches +
               action.microbatch] = {rank, i};
    }
}

static BlockKind blockKindOf(ActionKind kind) {
  switch (kind) {
  case ActionKind::Backward:
    return BlockKind::Backward;
  case ActionKind::InputGradient:
    return BlockKind::InputGradient;
  case ActionKind::WeightGradient:
    return BlockKind::WeightGradient;
  case ActionKind::Recompute:
    return BlockKind::Recompute;
  case ActionKind::Forward:
  case ActionKind::Update:
    return BlockKind::Forward;
  }
  return BlockKind::Forward;
}

PipelineBlock ScheduleWalk::blockAt(Place place) const {
  const Action &action = schedule.ranks[place.rank][place.index];
  const TimedAction &timed = timing.ranks[place.rank][place.index];
  return {blockKindOf(action.kind), size_t(action.stage), action.microbatch,
          timed.start, timed.end};
}

/// The input that the action receives from another stage.
std::optional<ScheduleWalk::Input> ScheduleWalk::inputOf(Place place) const {
  const Action &action = schedule.ranks[place.rank][place.index];
  Input input;
  input.back = isBack(action);
  int64_t from = action.stage + (input.back ? 1 : -1);
  if ((!input.back && action.kind != ActionKind::Forward) || from < 0 ||
      from == schedule.stages)
    return std::nullopt;
  input.edge = size_t(std::min(from, action.stage));
  input.maker = made(input.back, size_t(from), action.microbatch);
  input.made = timing.ranks[input.maker.rank][input.maker.index].end;
  input.arrived = input.made;
  if (input.maker.rank != place.rank)
    input.arrived += problem.hops[input.edge];
  return input;
}

std::optional<ScheduleWalk::Place> ScheduleWalk::lastEnd() const {
  for (size_t rank = 0; rank < schedule.ranks.size(); ++rank)
    for (size_t i = schedule.ranks[rank].size(); i-- > 0;)
      if (schedule.ranks[rank][i].kind != ActionKind::Update) {
        if (timing.ranks[rank][i].end == timing.makespan)
          return Place{rank, i};
        break;
      }
  return std::nullopt;
}

// Start times are sums of the same numbers as arrivals, so the input that an
// action waited for arrived exactly at its start. Every step goes back in the
// schedule, so the loop ends.
std::vector<CriticalBlock>
ScheduleWalk::criticalPath(const std::vector<size_t> &channels) const {
  std::vector<CriticalBlock> path;
  std::optional<Place> at = lastEnd();
  while (at) {
    PipelineBlock block = blockAt(*at);
    const std::vector<TimedAction> &timed = timing.ranks[at->rank];
    // Either action of a pair that overlaps may have waited.
    size_t first = at->index;
    if (first > 0 && schedule.ranks[at->rank][first].paired &&
        timed[first - 1].start == timed[first].start &&
        timed[first - 1].end == timed[first].end)
      --first;
    CriticalBlock critical{block, WaitReason::Nothing};
    std::optional<Place> before;
    if (first > 0 && block.start > Seconds()) {
      critical.waited = WaitReason::Resource;
      before = Place{at->rank, first - 1};
    }
    path.push_back(critical);
    for (size_t i = first; i <= at->index && block.start > Seconds(); ++i) {
      std::optional<Input> input = inputOf({at->rank, i});
      if (!input || input->arrived != block.start)
        continue;
      path.back().waited = WaitReason::Input;
      before = input->maker;
      if (input->arrived > input->made)
        path.push_back(
            {{input->back ? BlockKind::SendBackward : BlockKind::SendForward,
              channels[input->edge], block.microbatch, input->made,
              input->arrived},
             WaitReason::Input});
      break;
    }
    at = before;
  }
  std::reverse(path.begin(), path.end());
  return path;
}

} // namespace stagewright
