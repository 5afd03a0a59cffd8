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
  static ShardPlan planOf(std::string name, double seconds,
                          int64_t groups = 2) {
    GangShape shape;
    shape.groups = groups;
    return {shape, Seconds(seconds), std::move(name), {}};
  }

  void run() {
    std::vector<ShardTrial> trials;
    for (auto &[plan, form] : given)
      trials.push_back(
          {planOf(plan.json, plan.seconds.value, plan.shape.groups), form, 0});
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
                [&](size_t form, int64_t less) {
                  asked.emplace_back(form, less);
                  std::vector<ShardPlan> plans;
                  for (const std::string &name : inLess[less])
                    plans.push_back(planOf(name, 1));
                  return plans;
                }});
  }

  std::vector<std::pair<ShardPlan, size_t>> given;
  std::map<std::string, TrialOutcome> outcomes; ///< Others are planned.
  std::set<std::string> slow;
  std::map<int64_t, std::vector<std::string>> inLess; ///< By percent.
  std::vector<std::string> tried;
  std::vector<std::pair<size_t, int64_t>> asked;
};

using Asked = std::vector<std::pair<size_t, int64_t>>;
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
  inLess[5] = {"smaller"};
  run();
  EXPECT_EQ(tried, (Names{"wrong", "large", "smaller"}));
  EXPECT_EQ(asked, (Asked{{1, 5}}));
}

// The planner returns to a plan that has failed, and to one that is still to be
// tried.
TEST_F(ShardTrials, NoPlanIsTriedTwice) {
  given.emplace_back(planOf("a", 1), 0);
  given.emplace_back(planOf("later", 7), 0);
  outcomes = {{"a", TrialOutcome::NoMemory}, {"b", TrialOutcome::NoMemory}};
  inLess = {{5, {"b"}}, {10, {"a"}}, {15, {"later"}}, {20, {"c"}}};
  run();
  EXPECT_EQ(tried, (Names{"a", "b", "c", "later"}));
  EXPECT_EQ(asked, (Asked{{0, 5}, {0, 10}, {0, 15}, {0, 20}}));
}

// Each form of the backwards has graphs of its own, so equal texts are not
// equal plans.
TEST_F(ShardTrials, FormsHaveTheirOwnPlans) {
  given.emplace_back(planOf("a", 2), 0);
  given.emplace_back(planOf("b", 1), 1);
  outcomes = {{"b", TrialOutcome::NoMemory}};
  inLess[5] = {"a"};
  run();
  EXPECT_EQ(tried, (Names{"b", "a", "a"}));
}

TEST_F(ShardTrials, MemoryIsReducedToAtMostAFifth) {
  given.emplace_back(planOf("a", 1), 0);
  for (const char *name : {"a", "b", "c", "d", "e"})
    outcomes[name] = TrialOutcome::NoMemory;
  inLess = {{5, {"b"}}, {10, {"c"}}, {15, {"d"}}, {20, {"e"}}, {25, {"f"}}};
  run();
  EXPECT_EQ(tried, (Names{"a", "b", "c", "d", "e"}));
  EXPECT_EQ(asked, (Asked{{0, 5}, {0, 10}, {0, 15}, {0, 20}}));
}

// A plan without a pipeline is the only one, whatever the memory.
TEST_F(ShardTrials, ASingleGroupIsNotPlannedAgain) {
  given.emplace_back(planOf("one", 1, /*groups=*/1), 0);
  outcomes = {{"one", TrialOutcome::NoMemory}};
  inLess[5] = {"b"};
  run();
  EXPECT_EQ(tried, (Names{"one"}));
  EXPECT_TRUE(asked.empty());
}
