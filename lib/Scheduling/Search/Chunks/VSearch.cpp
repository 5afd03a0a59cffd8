//===- VSearch.cpp - orders of several chunks per rank --------------------===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Search/Chunks/VSearch.h"
#include "Search/Chunks/VPattern.h"
#include "Search/Chunks/VPolish.h"
#include "Search/Chunks/VRounds.h"
#include "Search/WakeTimes.h"
#include <algorithm>
#include <random>

namespace stagewright::search {

namespace {

struct Trial {
  PatternSettings pattern;
  WalkSettings walk;
  std::pair<Ticks, Ticks> value = {kNever, kNever};
};

class WalkSearch {
public:
  WalkSearch(const FastProblem &problem, Best &best, int64_t budget)
      : full(problem), reduced(problem), best(best), left(budget) {
    // A longer steady state takes longer to try and does not help.
    reduced.microbatches = std::min(problem.microbatches, 2 * problem.stages);
  }
  void run();

private:
  bool findBase();
  void vary(Trial &trial, bool all);
  double uniform(double from, double to) {
    return from + (to - from) * double(random() >> 11) * 0x1p-53;
  }
  bool chance(double of) { return uniform(0, 1) < of; }
  void attempt(const FastProblem &problem, const WalkProblem &walked,
               Walk &walk, Trial &trial);

  const FastProblem &full;
  FastProblem reduced;
  Best &best;
  int64_t left;
  PatternSettings base;
  std::mt19937_64 random{1};
};

} // namespace

/// Finds the first pattern that fits in memory. The lag between stages is at
/// first 1 / chunks of a period, then less; then the period is stretched, so
/// that fewer microbatches are in flight.
bool WalkSearch::findBase() {
  double lag = 1.0 / double(full.stagesOf[0].size());
  Ticks alone = 0, period = WalkProblem(full).period;
  for (const Lane &lane : full.lanes)
    alone += lane.duration + lane.hop;
  // If a microbatch ends before the next one starts, more stretch is useless.
  for (double stretch = 1; stretch * double(period) <= 1.25 * double(alone);
       stretch *= 1.25)
    for (double part : {1.0, 0.75, 0.5, 0.0}) {
      base.lagForward = base.lagBackward = part * lag;
      base.stretch = stretch;
      if (layOutPattern(reduced, base))
        return true;
    }
  return false;
}

void WalkSearch::vary(Trial &trial, bool all) {
  auto change = [&] { return all || chance(0.25); };
  for (double *lag : {&trial.pattern.lagForward, &trial.pattern.lagBackward})
    if (change())
      *lag = base.lagForward * (chance(0.7) ? 1 : uniform(0.4, 1.2));
  if (change())
    trial.pattern.turn = chance(0.7) ? 0 : uniform(0, 1);
  if (change())
    trial.pattern.delayWeight = chance(0.7) ? 0 : uniform(0, 2);
  WalkSettings &walk = trial.walk;
  for (double *prefer : {&walk.preferInput, &walk.preferLater})
    if (change())
      *prefer = chance(0.3) ? 0 : uniform(-2, 4);
  for (double *patience : {&walk.patience, &walk.patienceFilling})
    if (change())
      *patience = chance(0.3) ? 1 : uniform(0, 1);
  if (change())
    walk.overfill = chance(0.5) ? 0 : uniform(0, 1);
  if (change())
    walk.stock = chance(0.2) ? WalkSettings().stock : int32_t(uniform(0, 8));
  if (change())
    walk.pullMemory = chance(0.5) ? 1 : uniform(0.6, 1);
}

void WalkSearch::attempt(const FastProblem &problem, const WalkProblem &walked,
                         Walk &walk, Trial &trial) {
  trial.value = {kNever, kNever};
  left -= int64_t(problem.microbatches) * problem.stages * problem.phases;
  std::optional<WalkPlan> plan = layOutPattern(problem, trial.pattern);
  if (!plan)
    return;
  FastTimer timer(problem);
  const FastOrders &orders = walk.run(*plan, trial.walk, kNever);
  if (!timer.run(orders))
    return;
  trial.value = best.order(timer.makespan(), timer.span());
  if (walked.microbatches == full.microbatches)
    best.offer(orders, timer, problem, "walk");
}

void WalkSearch::run() {
  if (!findBase())
    return;
  WalkProblem small(reduced), large(full);
  Walk walk(small);
  std::vector<Trial> trials(1);
  trials[0].pattern = base;
  attempt(reduced, small, walk, trials[0]);
  Trial first = trials[0];
  int64_t reserve = left / 4;
  // On small problems the budget would allow more trials than are useful.
  while (left > reserve && trials.size() < 2000 && !best.meetsBound()) {
    bool fresh = trials.size() % 4 == 0;
    Trial trial = first;
    vary(trial, fresh);
    attempt(reduced, small, walk, trial);
    if (trial.value < first.value)
      first = trial;
    trials.push_back(trial);
  }
  if (full.microbatches == reduced.microbatches)
    return;
  std::stable_sort(
      trials.begin(), trials.end(),
      [](const Trial &a, const Trial &b) { return a.value < b.value; });
  Walk longWalk(large);
  for (Trial &trial : trials) {
    if (left <= 0 || best.meetsBound())
      return;
    attempt(full, large, longWalk, trial);
  }
}

void searchChunks(const FastProblem &problem, Best &best, int64_t budget) {
  FastTimer timer(problem);
  std::vector<FastOrders> starts;
  bool turnsBack = problem.stagesOf[0].size() == 2 &&
                   problem.stagesOf[0].back() == problem.stages - 1 &&
                   problem.ranks > 1;
  if (turnsBack && problem.phases == 3)
    starts = buildByRounds(problem);
  for (const FastOrders &orders : starts)
    if (timer.run(orders))
      best.offer(orders, timer, problem, "rounds");
  if (starts.size() > 1)
    starts.resize(1);
  if (!best.meetsBound())
    WalkSearch(problem, best, budget).run();
  if (best.found())
    starts.push_back(encode(best.schedule, problem));
  for (const FastOrders &orders : starts)
    if (!best.meetsBound())
      polish(problem, orders, best, 10 * budget / int64_t(starts.size()));
}

} // namespace stagewright::search
