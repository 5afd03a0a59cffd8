//===- LoopWithin.cpp - a loop with limited memory ------------------------===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "LoopWithin.h"
#include "Builder.h"
#include <algorithm>
#include <array>
#include <optional>
#include <set>

namespace stagewright {

using enum ActionKind;

namespace {
/// One value for each of F, I and W.
template <typename T> struct ByKind {
  T forwards = {}, inputGradients = {}, weightGradients = {};

  T &of(ActionKind kind) {
    return kind == Forward         ? forwards
           : kind == InputGradient ? inputGradients
                                   : weightGradients;
  }
};

/// Number of microbatches of a stage that have run.
using Counts = ByKind<int64_t>;

/// Sort key of an action among those of its kind on its rank; the last element
/// is its stage.
using Place = std::array<int64_t, 4>;

/// What a rank holds, and the actions that it can run.
struct RankState {
  int64_t held = 0; ///< Activations; those between I and W count twice.
  int64_t lastStage = 0;
  ByKind<std::set<Place>> arrived;
};

class Loop {
public:
  Loop(const ScheduleShape &shape, int64_t most, int64_t inFlight);

  std::vector<Order> run();

private:
  RankState &rankOf(int64_t stage) { return ranks[stage % shape.ranks]; }
  bool drains(int64_t stage) {
    return now[rankOf(stage).lastStage].forwards == shape.microbatches;
  }
  bool hasArrived(ActionKind kind, int64_t stage);
  void offer(ActionKind kind, int64_t stage);
  std::optional<Action> choose(RankState &rank);
  void follow(const Action &action);

  const ScheduleShape &shape;
  int64_t stages, most, inFlight;
  std::vector<Counts> now; ///< By stage.
  std::vector<RankState> ranks;
};
} // namespace

Loop::Loop(const ScheduleShape &shape, int64_t most, int64_t inFlight)
    : shape(shape), stages(shape.ranks * shape.chunks - shape.spare),
      most(most), inFlight(inFlight), now(stages), ranks(shape.ranks) {
  for (int64_t stage = 0; stage < stages; ++stage)
    rankOf(stage).lastStage = stage;
  offer(Forward, 0);
}

/// Whether the next microbatch of a stage can run. Every stage runs
/// microbatches in order.
bool Loop::hasArrived(ActionKind kind, int64_t stage) {
  const Counts &own = now[stage];
  if (kind == WeightGradient)
    return own.inputGradients > own.weightGradients;
  if (kind == InputGradient)
    return (stage + 1 == stages
                ? own.forwards
                : now[stage + 1].inputGradients) > own.inputGradients;
  if (stage > 0)
    return now[stage - 1].forwards > own.forwards;
  return own.forwards < shape.microbatches &&
         (shape.forwardOnly || own.forwards - own.inputGradients < inFlight);
}

/// Adds the next action of a stage to those of its rank, if it can run.
void Loop::offer(ActionKind kind, int64_t stage) {
  if (!hasArrived(kind, stage) || (shape.forwardOnly && kind != Forward))
    return;
  int64_t m = now[stage].of(kind);
  Place place = {m, -stage, 0, stage};
  if (kind == Forward)
    place = {m / shape.ranks, stage, m, stage};
  if (kind == WeightGradient && drains(stage))
    place = {-stage, m, 0, stage};
  rankOf(stage).arrived.of(kind).insert(place);
}

/// The action that a rank runs in a slot, by the rules in LoopWithin.h.
std::optional<Action> Loop::choose(RankState &rank) {
  // F and I each add one to `held`.
  bool isFull = rank.held + 1 > most * shape.chunks;
  std::array<ActionKind, 3> kinds = {InputGradient, Forward, WeightGradient};
  if (isFull)
    kinds = {WeightGradient, InputGradient, Forward};
  for (ActionKind kind : kinds) {
    std::set<Place> &places = rank.arrived.of(kind);
    if (places.empty())
      continue;
    int64_t stage = places.begin()->back();
    places.erase(places.begin());
    return Action{kind, stage, now[stage].of(kind)};
  }
  return std::nullopt;
}

/// Offers the successors of an action, after all actions of its slot are
/// counted.
void Loop::follow(const Action &action) {
  int64_t stage = action.stage;
  offer(action.kind, stage);
  if (action.kind == Forward && stage + 1 < stages)
    offer(Forward, stage + 1);
  if (action.kind == Forward && stage + 1 == stages)
    offer(InputGradient, stage);
  if (action.kind == InputGradient) {
    offer(WeightGradient, stage);
    offer(stage > 0 ? InputGradient : Forward, std::max<int64_t>(0, stage - 1));
  }
  RankState &rank = rankOf(stage);
  if (action.kind != Forward || stage != rank.lastStage || !drains(stage))
    return;
  // From now on W of the last chunk run first.
  rank.arrived.weightGradients.clear();
  for (int64_t s = stage % shape.ranks; s < stages; s += shape.ranks)
    offer(WeightGradient, s);
}

std::vector<Order> Loop::run() {
  std::vector<Order> orders(shape.ranks);
  int64_t left = stages * shape.microbatches * (shape.forwardOnly ? 1 : 3);
  while (left > 0) {
    std::vector<Action> slot;
    for (int64_t rank = 0; rank < shape.ranks; ++rank)
      if (std::optional<Action> action = choose(ranks[rank])) {
        orders[rank].push_back(*action);
        slot.push_back(*action);
      }
    for (const Action &action : slot) {
      ++now[action.stage].of(action.kind);
      rankOf(action.stage).held += action.kind == WeightGradient ? -2 : 1;
    }
    for (const Action &action : slot)
      follow(action);
    left -= int64_t(slot.size());
  }
  return orders;
}

Result<Schedule> loopWithin(const char *kind, const ScheduleShape &shape,
                            bool wide) {
  Result<Schedule> schedule = startSchedule(kind, shape, Placement::Loop, 2, 0);
  if (!schedule)
    return schedule;
  int64_t more = (shape.ranks + 7) / 8;
  int64_t most = shape.ranks + (wide ? more : 0);
  schedule->ranks = Loop(shape, most, most + more).run();
  return schedule;
}

} // namespace stagewright
