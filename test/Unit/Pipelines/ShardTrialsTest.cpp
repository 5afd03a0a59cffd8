//===- ShardTrialsTest.cpp - trying plans of shards -----------------------===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ShardTrials.h"
#include <gtest/gtest.h>
#include <map>
#include <set>

using namespace stagewright;

namespace {
/// Plans with names as texts, and what happens to each of them.
class ShardTrials : public testing::Test {
protected:
  static ShardPlan planOf(std::string name, double seconds, int64_t groups = 2,
                          double share = 1) {
    GangShape shape;
    shape.groups = groups;
    return {shape, Seconds(seconds), std::move(name), {}, share};
  }

  void run() {
    std::vector<ShardTrial> trials;
    for (auto &[plan, form] : given)
      trials.push_back(
          {planOf(plan.json, plan.seconds.value, plan.shape.groups, plan.share),
           form});
    tryInOrder(std::move(trials),
               {[&](const ShardTrial &trial) {
                  return slow.contains(trial.plan.json);
                },
                [&](const ShardTrial &trial) {
                  tried.push_back(trial.plan.json);
                  auto own = outcomes.find(trial.plan.json);
                  return own == outcomes.end() ? TrialOutcome::Planned
                                               : own->second;
                },
                [&](size_t form, double less) {
                  asked.emplace_back(form, less);
                  std::vector<ShardPlan> plans;
                  // The one that needs most of those that fit.
                  for (const auto &[share, name] : smaller)
                    if (plans.empty() && share <= 1 - less / 100)
                      plans.push_back(planOf(name, 1, 2, share));
                  return plans;
                }});
  }
  /// By request: percent of less memory.
  std::vector<double> percents() const {
    std::vector<double> all;
    for (auto [form, less] : asked)
      all.push_back(less);
    return all;
  }

  std::vector<std::pair<ShardPlan, size_t>> given;
  std::map<std::string, TrialOutcome> outcomes; ///< Others are planned.
  std::set<std::string> slow;
  /// Plans for less memory by the share that they need, the largest first.
  std::map<double, std::string, std::greater<>> smaller;
  std::vector<std::string> tried;
  std::vector<std::pair<size_t, double>> asked;
};

using Names = std::vector<std::string>;
} // namespace

TEST_F(ShardTrials, TheFastestPlanIsTriedFirst) {
  given.emplace_back(planOf("slow", 9), 0);
  given.emplace_back(planOf("b", 2), 0);
  given.emplace_back(planOf("a", 1), 1);
  slow = {"slow"};
  run();
  EXPECT_EQ(tried, (Names{"a", "b"}));
  EXPECT_TRUE(asked.empty());
}

TEST_F(ShardTrials, OnlyLackOfMemoryIsPlannedAgain) {
  given.emplace_back(planOf("wrong", 1), 0);
  given.emplace_back(planOf("large", 2), 1);
  outcomes = {{"wrong", TrialOutcome::Failed},
              {"large", TrialOutcome::NoMemory}};
  smaller = {{0.9, "smaller"}};
  run();
  EXPECT_EQ(tried, (Names{"wrong", "large", "smaller"}));
  ASSERT_EQ(asked.size(), 1u);
  EXPECT_EQ(asked.front().first, 1u);
  EXPECT_EQ(percents(), (std::vector<double>{1}));
}

// A plan that needs 97 % of the memory is not found in 96.9 %.
TEST_F(ShardTrials, TheNextPlanIsForABitLessThanThePlanNeeds) {
  given.emplace_back(planOf("a", 1, 2, 0.97), 0);
  outcomes = {{"a", TrialOutcome::NoMemory}};
  smaller = {{0.97, "a"}, {0.965, "b"}, {0.93, "c"}};
  run();
  EXPECT_EQ(tried, (Names{"a", "b"}));
  ASSERT_EQ(asked.size(), 1u);
  EXPECT_NEAR(percents().front(), 3.1, 1e-9);
}

// The planner returns to a plan that is still to be tried.
TEST_F(ShardTrials, NoPlanIsTriedTwice) {
  given.emplace_back(planOf("a", 1), 0);
  given.emplace_back(planOf("later", 7), 0);
  outcomes = {{"a", TrialOutcome::NoMemory}, {"b", TrialOutcome::NoMemory}};
  smaller = {{0.99, "b"}, {0.97, "later"}, {0.9, "c"}};
  run();
  EXPECT_EQ(tried, (Names{"a", "b", "c", "later"}));
  EXPECT_EQ(asked.size(), 3u);
}

// Each form of the backwards has graphs of its own, so equal texts are not
// equal plans.
TEST_F(ShardTrials, FormsHaveTheirOwnPlans) {
  given.emplace_back(planOf("a", 2), 0);
  given.emplace_back(planOf("b", 1), 1);
  outcomes = {{"b", TrialOutcome::NoMemory}};
  smaller = {{0.9, "a"}};
  run();
  EXPECT_EQ(tried, (Names{"b", "a", "a"}));
}

// Each request is for at least 1, 2, 4 and 8 percent less than the one before.
TEST_F(ShardTrials, MemoryIsReducedToAtMostAFifth) {
  given.emplace_back(planOf("a", 1), 0);
  for (const char *name : {"a", "b", "c", "d", "e"})
    outcomes[name] = TrialOutcome::NoMemory;
  smaller = {
      {0.985, "b"}, {0.965, "c"}, {0.925, "d"}, {0.845, "e"}, {0.6, "f"}};
  run();
  EXPECT_EQ(tried, (Names{"a", "b", "c", "d", "e"}));
  std::vector<double> expected = {1, 3, 7, 15};
  ASSERT_EQ(asked.size(), expected.size());
  for (size_t i = 0; i < expected.size(); ++i)
    EXPECT_NEAR(percents()[i], expected[i], 0.2);
}

// A plan without a pipeline is the only one, whatever the memory.
TEST_F(ShardTrials, ASingleGroupIsNotPlannedAgain) {
  given.emplace_back(planOf("one", 1, /*groups=*/1), 0);
  outcomes = {{"one", TrialOutcome::NoMemory}};
  smaller = {{0.9, "b"}};
  run();
  EXPECT_EQ(tried, (Names{"one"}));
  EXPECT_TRUE(asked.empty());
}
