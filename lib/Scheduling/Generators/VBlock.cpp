//===- VBlock.cpp - a block repeated every six slots ----------------------===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "VBlock.h"
#include "Builder.h"
#include <algorithm>
#include <deque>
#include <limits>

namespace stagewright {

/// By how much `action` changes the number of activations held, if only W frees
/// memory.
static int64_t growth(const Action &action) {
  if (action.kind == ActionKind::Forward)
    return 1;
  return action.kind == ActionKind::WeightGradient ? -1 : 0;
}

/// Step 1 of VBlock.h for one rank: its actions in the order of their slots.
static std::deque<Action> planOf(const VBlock &block, int64_t down, int64_t up,
                                 const ScheduleShape &shape) {
  using enum ActionKind;
  std::vector<std::pair<int64_t, Action>> slots;
  for (int64_t m = 0; m < shape.microbatches; ++m) {
    slots.push_back({block.forward0 + 6 * m, {Forward, down, m}});
    slots.push_back({block.forward1 + 6 * m, {Forward, up, m}});
    if (shape.forwardOnly)
      continue;
    slots.push_back({block.inputGradient1 + 6 * m, {InputGradient, up, m}});
    slots.push_back({block.inputGradient0 + 6 * m, {InputGradient, down, m}});
  }
  std::sort(slots.begin(), slots.end());
  std::deque<Action> plan, weights;
  int64_t now = 0;
  for (const auto &[slot, action] : slots) {
    for (; now < slot && !weights.empty(); ++now) {
      plan.push_back(weights.front());
      weights.pop_front();
    }
    plan.push_back(action);
    now = slot + 1;
    if (action.kind == InputGradient)
      weights.push_back({WeightGradient, action.stage, action.microbatch});
  }
  plan.insert(plan.end(), weights.begin(), weights.end());
  return plan;
}

static int64_t peakOf(const std::deque<Action> &plan) {
  int64_t held = 0, peak = 0;
  for (const Action &action : plan)
    peak = std::max(peak, held += growth(action));
  return peak;
}

namespace {
/// Step 2 of VBlock.h: all ranks, slot by slot.
class Squeeze {
public:
  Squeeze(Schedule schedule, std::vector<std::deque<Action>> plans,
          bool forwardOnly, bool weightsLast)
      : schedule(std::move(schedule)), plans(std::move(plans)),
        forwardOnly(forwardOnly), weightsLast(weightsLast),
        held(this->plans.size(), 0), open(this->plans.size(), 0),
        ended(3 * this->schedule.stages * this->schedule.microbatches, kNever) {
    this->schedule.ranks.resize(this->plans.size());
    for (const std::deque<Action> &plan : this->plans)
      cap = std::max(cap, peakOf(plan));
  }

  /// Runs all actions. Returns the number of slots used.
  int64_t run() {
    int64_t slot = 0;
    for (; !finished(); ++slot)
      for (size_t rank = 0; rank < plans.size(); ++rank)
        step(rank, slot);
    return slot;
  }

  Schedule schedule;

private:
  static constexpr int64_t kNever = std::numeric_limits<int64_t>::max();

  bool finished() const {
    return std::all_of(plans.begin(), plans.end(),
                       [](const auto &plan) { return plan.empty(); });
  }
  int64_t &end(ActionKind kind, int64_t stage, int64_t microbatch) {
    int64_t phase = kind == ActionKind::Forward         ? 0
                    : kind == ActionKind::InputGradient ? 1
                                                        : 2;
    return ended[(phase * schedule.stages + stage) * schedule.microbatches +
                 microbatch];
  }
  bool ready(const Action &action, int64_t slot);
  void step(size_t rank, int64_t slot);

  std::vector<std::deque<Action>> plans;
  bool forwardOnly, weightsLast;
  std::vector<int64_t> held;
  std::vector<int64_t> open;  ///< I and W left of forwards that have run.
  std::vector<int64_t> ended; ///< By phase, stage and microbatch.
  int64_t cap = 0;
};
} // namespace

bool Squeeze::ready(const Action &action, int64_t slot) {
  using enum ActionKind;
  int64_t stage = action.stage, m = action.microbatch;
  if (action.kind == Forward)
    return stage == 0 || end(Forward, stage - 1, m) <= slot;
  if (action.kind == InputGradient)
    return end(Forward, stage, m) <= slot &&
           (stage + 1 == schedule.stages ||
            end(InputGradient, stage + 1, m) <= slot);
  return end(InputGradient, stage, m) <= slot;
}

void Squeeze::step(size_t rank, int64_t slot) {
  std::deque<Action> &plan = plans[rank];
  auto chosen = plan.end();
  int64_t sofar = held[rank], most = sofar;
  // Actions that may be ready: I and W of forwards that have run, and the next
  // forward of each stage (later ones have to wait for it).
  int64_t left = open[rank];
  for (int64_t stage : {int64_t(rank), schedule.stages - 1 - int64_t(rank)})
    left +=
        end(ActionKind::Forward, stage, schedule.microbatches - 1) == kNever;
  for (auto next = plan.begin(); left > 0 && next != plan.end(); ++next) {
    bool forward = next->kind == ActionKind::Forward;
    bool fits = next == plan.begin() || !forward || most < cap;
    if (fits && ready(*next, slot)) {
      // A W can wait while the forwards after it fit the memory.
      bool canWait = weightsLast && sofar < cap &&
                     next->kind == ActionKind::WeightGradient;
      if (!canWait || chosen == plan.end())
        chosen = next;
      if (!canWait)
        break;
    }
    most = std::max(most, sofar += growth(*next));
    int64_t before = next->microbatch - (forward ? 1 : 0);
    left -=
        before < 0 || end(ActionKind::Forward, next->stage, before) != kNever;
  }
  if (chosen == plan.end())
    return;
  end(chosen->kind, chosen->stage, chosen->microbatch) = slot + 1;
  held[rank] += growth(*chosen);
  open[rank] += chosen->kind != ActionKind::Forward ? -1 : forwardOnly ? 0 : 2;
  schedule.ranks[rank].push_back(*chosen);
  plan.erase(chosen);
}

Result<Schedule> repeatBlock(const char *kind, const ScheduleShape &shape,
                             const std::function<VBlock(int64_t)> &block) {
  Result<Schedule> schedule = startSchedule(kind, shape, Placement::V, 2, 2);
  if (!schedule)
    return schedule;
  std::vector<std::deque<Action>> plans;
  for (int64_t rank = 0; rank < shape.ranks; ++rank)
    plans.push_back(
        planOf(block(rank), rank, 2 * shape.ranks - 1 - rank, shape));
  Squeeze inTurn(*schedule, plans, shape.forwardOnly, false);
  Squeeze last(*schedule, plans, shape.forwardOnly, true);
  return last.run() < inTurn.run() ? std::move(last.schedule)
                                   : std::move(inTurn.schedule);
}

} // namespace stagewright
