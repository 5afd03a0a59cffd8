//===- Timing.cpp - times and memory of a schedule ------------------------===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "stagewright/Scheduling/Timing.h"
#include "stagewright/Scheduling/Verify.h"
#include <algorithm>
#include <cmath>

namespace stagewright {

double ScheduleTiming::bubbleRate(Seconds value) const {
  Seconds most;
  for (Seconds rank : work)
    most = std::max(most, rank);
  return value.value > 0 ? (value.value - most.value) / value.value : 0;
}

namespace {

/// Runs a schedule that verify() accepts: each rank as far as it can, and again
/// when what it waited for is done.
class Timer {
public:
  Timer(const Schedule &schedule, const ScheduleProblem &problem)
      : schedule(schedule), problem(problem),
        done(3 * schedule.stages * schedule.microbatches, kNotYet),
        waiter(done.size(), -1), next(schedule.ranks.size(), 0),
        free(schedule.ranks.size()), held(schedule.ranks.size(), 0) {
    timing.times.resize(schedule.ranks.size());
    timing.peaks.assign(schedule.ranks.size(), 0);
    timing.work.resize(schedule.ranks.size());
  }

  ScheduleTiming run();
  bool finished() const {
    for (size_t rank = 0; rank < schedule.ranks.size(); ++rank)
      if (next[rank] < schedule.ranks[rank].size())
        return false;
    return true;
  }

private:
  static constexpr double kNotYet = -1;
  enum Phase { F, I, W };

  size_t indexOf(Phase phase, int64_t stage, int64_t microbatch) const {
    return (phase * schedule.stages + stage) * schedule.microbatches +
           microbatch;
  }
  /// When what `action` needs has arrived; kNotYet if it has not, and `rank` is
  /// then told when it is made.
  double ready(const Action &action, int64_t rank);
  Seconds duration(const Action &action) const;
  void finish(const Action &action, int64_t rank, Seconds end);
  bool step(int64_t rank);
  void grow(int64_t rank, double amount) {
    held[rank] += amount;
    timing.peaks[rank] = std::max(timing.peaks[rank], held[rank]);
  }

  const Schedule &schedule;
  const ScheduleProblem &problem;
  std::vector<double> done; ///< By phase, stage and microbatch: when it ended.
  std::vector<int64_t> waiter; ///< The other rank that waits for it.
  std::vector<size_t> next;
  std::vector<Seconds> free;
  std::vector<double> held;
  std::vector<bool> recomputes; ///< By stage and microbatch.
  std::vector<int64_t> woken;
  ScheduleTiming timing;
};

} // namespace

Seconds Timer::duration(const Action &action) const {
  const StageCosts &stage = problem.stages[action.stage];
  switch (action.kind) {
  case ActionKind::Forward:
  case ActionKind::Recompute:
    return stage.forward;
  case ActionKind::Backward:
    return stage.inputGradient + stage.weightGradient;
  case ActionKind::InputGradient:
    return stage.inputGradient;
  case ActionKind::WeightGradient:
    return stage.weightGradient;
  case ActionKind::Update:
    return Seconds();
  }
  return Seconds();
}

double Timer::ready(const Action &action, int64_t rank) {
  int64_t from = -1;
  Seconds hop;
  Phase phase = F;
  if (action.kind == ActionKind::Forward && action.stage > 0) {
    from = action.stage - 1;
    hop = problem.hops[from];
  } else if ((action.kind == ActionKind::Backward ||
              action.kind == ActionKind::InputGradient) &&
             action.stage + 1 < schedule.stages) {
    from = action.stage + 1;
    hop = problem.hops[action.stage];
    phase = I;
  }
  if (from < 0)
    return 0;
  size_t index = indexOf(phase, from, action.microbatch);
  if (done[index] == kNotYet) {
    waiter[index] = rank;
    return kNotYet;
  }
  // Twins of a stage lie on two ranks; a hop is paid where the ranks differ.
  bool apart = problem.placement == Placement::Twin ||
               problem.rankOf(from) != problem.rankOf(action.stage);
  return done[index] + (apart ? hop.value : 0);
}

void Timer::finish(const Action &action, int64_t rank, Seconds end) {
  const StageCosts &stage = problem.stages[action.stage];
  auto record = [&](Phase phase) {
    size_t index = indexOf(phase, action.stage, action.microbatch);
    done[index] = end.value;
    if (waiter[index] >= 0 && waiter[index] != rank)
      woken.push_back(waiter[index]);
  };
  switch (action.kind) {
  case ActionKind::Forward:
    record(F);
    if (problem.forwardOnly)
      held[rank] -= stage.activation;
    else if (recomputes[action.stage * schedule.microbatches +
                        action.microbatch])
      held[rank] -= stage.activation - stage.recomputeInput;
    break;
  case ActionKind::Backward:
    record(I);
    record(W);
    held[rank] -= stage.activation;
    break;
  case ActionKind::InputGradient:
    record(I);
    held[rank] -= stage.activation - stage.kept;
    break;
  case ActionKind::WeightGradient:
    record(W);
    held[rank] -= stage.kept;
    break;
  case ActionKind::Recompute:
  case ActionKind::Update:
    break;
  }
}

/// Runs the next action of `rank`, with the one that it is a pair with.
bool Timer::step(int64_t rank) {
  const Order &order = schedule.ranks[rank];
  size_t first = next[rank];
  if (first == order.size())
    return false;
  bool pair = problem.overlap > 0 && first + 1 < order.size() &&
              order[first + 1].paired;
  size_t last = pair ? first + 1 : first;
  double start = free[rank].value;
  Seconds length;
  for (size_t i = first; i <= last; ++i) {
    double at = ready(order[i], rank);
    if (at == kNotYet)
      return false;
    start = std::max(start, at);
    length += duration(order[i]);
  }
  if (pair)
    length = Seconds(length.value * problem.overlap);
  Seconds end(start + length.value);
  for (size_t i = first; i <= last; ++i) {
    const StageCosts &stage = problem.stages[order[i].stage];
    if (order[i].kind == ActionKind::Forward)
      grow(rank, stage.activation);
    if (order[i].kind == ActionKind::Recompute)
      grow(rank, stage.activation - stage.recomputeInput);
    timing.times[rank].push_back({Seconds(start), end});
  }
  for (size_t i = first; i <= last; ++i)
    finish(order[i], rank, end);
  timing.work[rank] += length;
  free[rank] = end;
  next[rank] = last + 1;
  return true;
}

ScheduleTiming Timer::run() {
  recomputes.assign(schedule.stages * schedule.microbatches, false);
  for (const Order &order : schedule.ranks)
    for (const Action &action : order)
      if (action.kind == ActionKind::Recompute)
        recomputes[action.stage * schedule.microbatches + action.microbatch] =
            true;
  for (size_t rank = schedule.ranks.size(); rank-- > 0;)
    woken.push_back(int64_t(rank));
  while (!woken.empty()) {
    int64_t rank = woken.back();
    woken.pop_back();
    while (step(rank))
      ;
  }
  for (size_t rank = 0; rank < timing.times.size(); ++rank) {
    if (timing.times[rank].empty())
      continue;
    Seconds first = timing.times[rank].front().first, end = free[rank];
    timing.makespan = std::max(timing.makespan, end);
    timing.span = std::max(timing.span, end - first);
  }
  return std::move(timing);
}

Result<ScheduleTiming> timeSchedule(const Schedule &schedule,
                                    const ScheduleProblem &problem) {
  if (Status status = problem.check(); !status)
    return status.error();
  if (schedule.microbatches != problem.microbatches ||
      int64_t(schedule.ranks.size()) != problem.ranks)
    return Error{"the schedule is for " +
                 std::to_string(schedule.ranks.size()) + " ranks and " +
                 std::to_string(schedule.microbatches) +
                 " microbatches, the costs for " +
                 std::to_string(problem.ranks) + " and " +
                 std::to_string(problem.microbatches)};
  if (Status status = verify(
          schedule, chainGraph(problem.numStages(), problem.forwardOnly));
      !status)
    return status.error();
  Timer timer(schedule, problem);
  ScheduleTiming timing = timer.run();
  if (!timer.finished())
    return Error{"schedule deadlocks where its pairs run as one"};
  return timing;
}

} // namespace stagewright
