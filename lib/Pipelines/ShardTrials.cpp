//===- ShardTrials.cpp - trying plans of shards ---------------------------===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ShardTrials.h"
#include "llvm/ADT/STLExtras.h"
#include <optional>
#include <set>

namespace stagewright {

/// The next plan is made for less memory than the last plan needs, by this
/// percentage of the whole memory, so that the same plan is not found again.
static constexpr double kBit = 0.1;

/// By form: the plans that have been among the trials.
using KnownPlans = std::set<std::pair<size_t, std::string>>;

/// The first pipeline that is planned for less memory than that of `trial` and
/// is not known; none if there is no such plan.
static std::optional<ShardTrial> nextInLess(const ShardTrial &trial,
                                            const KnownPlans &known,
                                            const TrialCalls &calls) {
  double less = trial.less, step = trial.step, share = trial.plan.share;
  while (true) {
    less = std::max(less + step, 100 * (1 - share) + kBit);
    step *= 2;
    if (less > kMostLess)
      return std::nullopt;
    std::vector<ShardPlan> plans = calls.plan(trial.form, less);
    if (plans.empty())
      return std::nullopt; // Nor are there any for even less.
    for (ShardPlan &plan : plans) {
      if (plan.shape.groups < 2)
        continue;
      if (!known.contains({trial.form, plan.json}))
        return ShardTrial{std::move(plan), trial.form, less, step};
      share = plan.share;
    }
  }
}

void tryInOrder(std::vector<ShardTrial> trials, const TrialCalls &calls) {
  KnownPlans known;
  for (const ShardTrial &trial : trials)
    known.insert({trial.form, trial.plan.json});
  while (!trials.empty()) {
    auto next =
        llvm::min_element(trials, [](const ShardTrial &a, const ShardTrial &b) {
          return a.plan.seconds < b.plan.seconds;
        });
    ShardTrial trial = std::move(*next);
    trials.erase(next);
    if (calls.isSlow(trial) || calls.attempt(trial) != TrialOutcome::NoMemory ||
        trial.plan.shape.groups < 2)
      continue;
    if (std::optional<ShardTrial> retry = nextInLess(trial, known, calls)) {
      known.insert({trial.form, retry->plan.json});
      trials.push_back(std::move(*retry));
    }
  }
}

} // namespace stagewright
