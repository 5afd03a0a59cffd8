//===- DynamicProgram.cpp - search over the states of a space -------------===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Extends prefixes by one decision at a time, those of one length by increasing
// bounds. Of the prefixes with one state it keeps the kKept with the least
// bounds, since what follows costs the same after each of them. The number of
// prefixes whose bounds are computed is limited; each length gets an equal part
// of what the shorter ones have left. If there is a time limit, computing
// bounds takes at most half of it. Plans are then evaluated by increasing
// bounds until the bound reaches the best time. If no prefix was dropped whose
// bound is less than that time, the plan is the best of the space.
//
//===----------------------------------------------------------------------===//

#include "Search/SearchRun.h"
#include <algorithm>
#include <limits>

namespace stagewright {

/// Prefixes kept for each state. Bounds are not exact: of two prefixes in one
/// state, the one with the slightly larger bound may lead to the faster plan.
static constexpr size_t kKept = 8;
/// Max number of prefixes whose bounds are computed: kVisitsPerPlan for each
/// plan that may be evaluated, but at least kLeastVisits. On small spaces this
/// is no limit.
static constexpr double kLeastVisits = 2e5, kVisitsPerPlan = 200;
/// Share of a time limit for computing these bounds.
static constexpr double kTimeOfVisits = 0.5;

namespace {
struct Bounded {
  double bound;
  Decisions prefix;
  bool operator<(const Bounded &other) const {
    return std::tie(bound, prefix) < std::tie(other.bound, other.prefix);
  }
};
} // namespace

/// Keeps the best `most` of `list`; lowers `dropped` to the least bound of the
/// others.
static void keepBest(std::vector<Bounded> &list, size_t most, double &dropped) {
  std::sort(list.begin(), list.end());
  if (list.size() <= most)
    return;
  dropped = std::min(dropped, list[most].bound);
  list.resize(most);
}

void searchDynamicProgram(SearchRun &run) {
  run.evaluateReferences();
  size_t longest = 1; // A reference has the most stages.
  for (const Decisions &plan : run.space.references())
    longest = std::max(longest, plan.size());
  double left = std::max(kLeastVisits, kVisitsPerPlan * double(run.budget()));
  double dropped = std::numeric_limits<double>::infinity();
  std::vector<Bounded> plans, level = {{0, {}}};
  for (size_t length = 0; !level.empty(); ++length) {
    double share = left / double(longest - std::min(length, longest - 1));
    double visits = 0;
    std::map<Decisions, std::vector<Bounded>> next;
    std::sort(level.begin(), level.end());
    for (const Bounded &from : level) {
      if (from.bound >= run.least())
        break;
      if (visits >= share || run.spentTime() >= kTimeOfVisits) {
        dropped = std::min(dropped, from.bound);
        break;
      }
      std::vector<int64_t> choices = run.space.choices(from.prefix);
      for (int64_t choice : choices) {
        Bounded to = from;
        to.prefix.push_back(choice);
        to.bound = std::max(from.bound, run.space.bound(to.prefix));
        if (to.bound < run.least())
          next[run.space.stateOf(to.prefix)].push_back(std::move(to));
      }
      visits += double(choices.size());
      run.report(int64_t(choices.size()));
    }
    left -= std::min(left, visits);
    level.clear();
    for (auto &[state, list] : next) {
      bool isPlan = run.space.choices(list.front().prefix).empty();
      if (!isPlan)
        keepBest(list, kKept, dropped);
      std::move(list.begin(), list.end(),
                std::back_inserter(isPlan ? plans : level));
    }
  }
  std::sort(plans.begin(), plans.end());
  for (const Bounded &plan : plans) {
    if (plan.bound >= run.least())
      break;
    if (run.isOver())
      return;
    run.time(plan.prefix);
  }
  if (dropped >= run.least())
    run.setOptimum();
}

} // namespace stagewright
