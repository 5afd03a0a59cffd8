//===- Settings.cpp - search for the settings of Greedy.h -----------------===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Search/Chain/Settings.h"
#include "Search/WakeTimes.h"
#include <algorithm>

namespace stagewright::search {

namespace {

/// A setting and the values to try.
struct Knob {
  double GreedySettings::*setting;
  std::vector<double> values;
};

struct Trial {
  GreedySettings settings;
  std::pair<Ticks, Ticks> value; ///< The objective, then the other metric.
};

class SettingsSearch {
public:
  SettingsSearch(const FastProblem &problem, Best &best, int64_t budget)
      : problem(problem), best(best), timer(problem), left(budget),
        idle(allowedIdle(problem, Ticks(best.bound().value / problem.tick),
                         best.options.objective == ScheduleObjective::Span)) {}

  std::vector<FastOrders> run();

private:
  Trial attempt(const GreedySettings &settings);
  void descend(Trial &trial);
  bool over() const { return left <= 0 || best.meetsBound(); }

  const FastProblem &problem;
  Best &best;
  FastTimer timer;
  int64_t left;
  std::vector<Ticks> idle;
};

} // namespace

static const std::vector<Knob> &knobs() {
  static const std::vector<Knob> knobs = {
      {&GreedySettings::hold, {1, 0.5, 0, 0.25, 0.75}},
      {&GreedySettings::idle, {0, 1, 0.5, 0.75, 1.25}},
      {&GreedySettings::warmup, {1, 0.5, 0, 0.75, 0.25, 1.5}},
      {&GreedySettings::late, {0, 0.5, 1, 0.25, 0.75}},
      {&GreedySettings::early, {0, 0.5, 1, 0.25, 0.75}},
      {&GreedySettings::patience, {0.5, 0, 1, 0.25, 0.75}},
      {&GreedySettings::forwardFirst, {0, 1}},
      {&GreedySettings::makeRoom, {0, 1}},
      {&GreedySettings::backlog, {1, 0.5, 0.25, 0.75, 0.125}}};
  return knobs;
}

Trial SettingsSearch::attempt(const GreedySettings &settings) {
  FastOrders orders = constructGreedy(problem, settings, idle);
  left -= int64_t(problem.microbatches) * problem.stages * problem.phases;
  if (!timer.run(orders))
    return {settings, {kNever, kNever}};
  best.offer(orders, timer, problem, "greedy");
  return {settings, best.order(timer.makespan(), timer.span())};
}

/// Changes one setting at a time, keeping each improvement, until none is left.
void SettingsSearch::descend(Trial &trial) {
  for (size_t since = 0, at = 0; since < knobs().size() && !over(); ++since) {
    const Knob &knob = knobs()[at];
    at = (at + 1) % knobs().size();
    GreedySettings from = trial.settings;
    for (double value : knob.values) {
      GreedySettings changed = from;
      changed.*knob.setting = value;
      if (over() || changed.*knob.setting == from.*knob.setting)
        continue;
      Trial next = attempt(changed);
      if (next.value < trial.value) {
        trial = next;
        since = 0;
      }
    }
  }
}

std::vector<FastOrders> SettingsSearch::run() {
  std::vector<Trial> trials;
  for (double idle : {1.0, 0.0})
    for (double hold : {1.0, 0.0})
      for (double warmup : {1.0, 0.5})
        for (double patience : {0.5, 0.0}) {
          GreedySettings settings;
          settings.warmup = warmup;
          settings.hold = hold;
          settings.idle = idle;
          settings.patience = settings.early = settings.late = patience;
          trials.push_back(attempt(settings));
        }
  // All of them are tried even if one meets the bound: a later one that meets
  // it may be more regular.
  if (best.meetsBound())
    return {};
  auto less = [](const Trial &a, const Trial &b) { return a.value < b.value; };
  std::sort(trials.begin(), trials.end(), less);
  trials.resize(6);
  for (Trial &trial : trials)
    descend(trial);
  std::sort(trials.begin(), trials.end(), less);
  std::vector<FastOrders> orders;
  for (const Trial &trial : trials)
    orders.push_back(constructGreedy(problem, trial.settings, idle));
  return orders;
}

std::vector<FastOrders> searchSettings(const FastProblem &problem, Best &best,
                                       int64_t budget) {
  return SettingsSearch(problem, best, budget).run();
}

} // namespace stagewright::search
