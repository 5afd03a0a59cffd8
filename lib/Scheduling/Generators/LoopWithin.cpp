//===- LoopWithin.cpp - a loop with a limit on what it holds --------------===//
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

namespace stagewright {

using enum ActionKind;

namespace {
/// How many microbatches of a stage have run.
struct Counts {
  int64_t forwards = 0, inputGradients = 0, weightGradients = 0;

  int64_t &of(ActionKind kind) {
    return kind == Forward         ? forwards
           : kind == InputGradient ? inputGradients
                                   : weightGradients;
  }
  /// In chunks, one between I and W counted twice.
  int64_t held() const {
    return forwards - inputGradients + 2 * (inputGradients - weightGradients);
  }
};

class Loop {
public:
  Loop(const ScheduleShape &shape, int64_t most, int64_t inFlight)
      : shape(shape), stages(shape.ranks * shape.chunks - shape.spare),
        most(most), inFlight(inFlight), now(stages) {}

  std::vector<Order> run();

private:
  bool hasArrived(ActionKind kind, int64_t stage) const;
  std::optional<Action> first(ActionKind kind, int64_t rank) const;
  std::optional<Action> choose(int64_t rank) const;
  int64_t held(int64_t rank) const;
  int64_t lastStage(int64_t rank) const {
    return rank + (stages - 1 - rank) / shape.ranks * shape.ranks;
  }

  const ScheduleShape &shape;
  int64_t stages, most, inFlight;
  std::vector<Counts> now; ///< At the begin of the slot, by stage.
};
} // namespace

/// Whether the next microbatch of a stage can run. All stages take microbatches
/// in their order.
bool Loop::hasArrived(ActionKind kind, int64_t stage) const {
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

/// The first action of a kind in the order of the header.
std::optional<Action> Loop::first(ActionKind kind, int64_t rank) const {
  std::optional<Action> best;
  std::array<int64_t, 3> least = {};
  bool drains = now[lastStage(rank)].forwards == shape.microbatches;
  for (int64_t stage = rank; stage < stages; stage += shape.ranks) {
    if (!hasArrived(kind, stage))
      continue;
    Counts own = now[stage];
    int64_t m = own.of(kind);
    std::array<int64_t, 3> place = {m, -stage, 0};
    if (kind == Forward)
      place = {m / shape.ranks, stage, m};
    if (kind == WeightGradient && drains)
      place = {-stage, m, 0};
    if (best && least < place)
      continue;
    best = Action{kind, stage, m};
    least = place;
  }
  return best;
}

int64_t Loop::held(int64_t rank) const {
  int64_t chunks = 0;
  for (int64_t stage = rank; stage < stages; stage += shape.ranks)
    chunks += now[stage].held();
  return chunks;
}

std::optional<Action> Loop::choose(int64_t rank) const {
  std::optional<Action> weights, next;
  if (!shape.forwardOnly) {
    weights = first(WeightGradient, rank);
    next = first(InputGradient, rank);
  }
  if (!next)
    next = first(Forward, rank);
  // F and I each make one chunk more.
  bool isFull = held(rank) + 1 > most * shape.chunks;
  return next && !(isFull && weights) ? next : weights;
}

std::vector<Order> Loop::run() {
  std::vector<Order> orders(shape.ranks);
  int64_t left = stages * shape.microbatches * (shape.forwardOnly ? 1 : 3);
  while (left > 0) {
    std::vector<Counts> after = now;
    for (int64_t rank = 0; rank < shape.ranks; ++rank) {
      std::optional<Action> action = choose(rank);
      if (!action)
        continue;
      ++after[action->stage].of(action->kind);
      orders[rank].push_back(*action);
      --left;
    }
    now = std::move(after);
  }
  return orders;
}

Result<Schedule> loopWithin(const char *kind, const ScheduleShape &shape,
                            int64_t most) {
  Result<Schedule> schedule = startSchedule(kind, shape, Placement::Loop, 2, 0);
  if (schedule)
    schedule->ranks = Loop(shape, most, most + (shape.ranks + 7) / 8).run();
  return schedule;
}

} // namespace stagewright
