//===- SearchTest.cpp - searches over sequences of decisions --------------===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Optima are those of exhaustive search, whose number of plans is checked
// against a closed formula, so that none is left out.
//
//===----------------------------------------------------------------------===//

#include "../Builds.h"
#include "Search/Mlp.h"
#include "Search/Replay.h"
#include "SearchProblems.h"
#include "stagewright/Planning/Planners.h"
#include <chrono>
#include <limits>
#include <thread>

using namespace stagewright;
using namespace stagewright::testing;

/// A plan chosen at random, decision by decision.
static Decisions randomPlan(const SearchSpace &space, SearchRandom &random) {
  Decisions plan;
  for (;;) {
    std::vector<int64_t> choices = space.choices(plan);
    if (choices.empty())
      return plan;
    plan.push_back(choices[random.pick(choices.size())]);
  }
}

TEST(ChainSpace, BoundsOfAllPrefixesAreBelowTheirPlans) {
  Draw draw(11);
  SearchRandom random(5);
  for (int c = 0; c < 200; ++c) {
    Problem problem = randomProblem(draw, 7, 5, /*unalike=*/c % 2 == 0);
    Network network = *Network::create(problem.cluster);
    ChainSpace space(problem, network);
    for (int i = 0; i < 40; ++i) {
      Decisions plan = randomPlan(space, random);
      Result<double> time = space.time(plan);
      if (!time)
        continue;
      for (size_t length = 0; length <= plan.size(); ++length) {
        Decisions prefix(plan.begin(), plan.begin() + length);
        EXPECT_LE(space.bound(prefix), *time) << "problem " << c;
        EXPECT_EQ(space.features(prefix).size(), space.numFeatures());
      }
    }
  }
}

TEST(ChainSpace, CountsPlans) {
  Draw draw(2);
  Problem problem;
  problem.cluster = randomCluster(draw, 4, 10, 10);
  for (int l = 0; l < 6; ++l)
    addLayer(problem, 1, 2, 1, 1);
  Network network = *Network::create(problem.cluster);
  // Sum over s of choose(5, s - 1) * choose(4, s) for one order of devices.
  ChainSpace free(problem, network);
  EXPECT_EQ(free.count({0}), 4 + 5 * 6 + 10 * 4 + 10);
  problem.stages = 2;
  EXPECT_EQ(ChainSpace(problem, network).count({0}), 5 * 6);
  problem.maxReplicas = 2; // (1,1), (1,2), (2,1), (2,2).
  EXPECT_EQ(ChainSpace(problem, network).count({0}), 5 * 4);
}

TEST(ChainSpace, CountOfAPrefixIsThatOfItsChoices) {
  Draw draw(8);
  SearchRandom random(1);
  Problem problem = randomProblem(draw, 6, 4);
  Network network = *Network::create(problem.cluster);
  ChainSpace space(problem, network);
  for (int i = 0; i < 50; ++i) {
    Decisions plan = randomPlan(space, random);
    EXPECT_EQ(space.count(plan), 1);
    for (size_t length = 0; length < plan.size(); ++length) {
      Decisions prefix(plan.begin(), plan.begin() + length);
      long double sum = 0;
      for (int64_t choice : space.choices(prefix)) {
        Decisions next = prefix;
        next.push_back(choice);
        sum += space.count(next);
      }
      EXPECT_EQ(space.count(prefix), sum);
    }
  }
}

TEST(ChainSpace, NeighboursArePlans) {
  Draw draw(4);
  SearchRandom random(9);
  for (int64_t stages : {0, 3}) {
    Problem problem = randomProblem(draw, 8, 5);
    problem.stages = stages;
    problem.maxReplicas = 3;
    Network network = *Network::create(problem.cluster);
    ChainSpace space(problem, network);
    Decisions plan = space.references().front();
    for (int i = 0; i < 2000; ++i) {
      plan = space.neighbour(plan, random);
      for (size_t length = 0; length < plan.size(); ++length) {
        std::vector<int64_t> choices =
            space.choices({plan.begin(), plan.begin() + length});
        ASSERT_TRUE(std::find(choices.begin(), choices.end(), plan[length]) !=
                    choices.end());
      }
      ASSERT_TRUE(space.choices(plan).empty());
    }
  }
}

TEST(Search, DriversThatProveTheOptimumHaveIt) {
  Draw draw(21);
  const int problems = kPart == 1 ? 12 : 2;
  int proved = 0;
  for (int c = 0; c < problems; ++c) {
    Problem problem = randomProblem(draw, 7, 4, /*unalike=*/c % 2 == 0);
    Network network = *Network::create(problem.cluster);
    ChainSpace space(problem, network);
    SearchOutcome all = found(space, {"exhaustive"});
    EXPECT_EQ(double(all.evaluations), all.plans);
    EXPECT_TRUE(all.isOptimum);
    for (const char *driver : {"dp", "q", "anneal", "random"}) {
      SearchOutcome one = found(space, {driver, 200});
      EXPECT_LE(one.evaluations, 200);
      EXPECT_GE(one.time, all.time);
      if (one.isOptimum)
        EXPECT_EQ(one.time, all.time) << driver << " on problem " << c;
      proved += one.isOptimum;
    }
  }
  EXPECT_GE(proved, problems);
}

// Auto-MAP's claim: in 9 of 10 seeds the optimum, with
// at most a tenth of the plans.
TEST(Search, DeepQFindsOptimaWithATenthOfThePlans) {
  STAGEWRIGHT_SKIP_IN_SLOW_BUILDS();
  Draw draw(3);
  for (size_t devices : {4, 5}) {
    Problem problem = randomProblem(draw, 11, devices);
    Network network = *Network::create(problem.cluster);
    ChainSpace space(problem, network);
    SearchOutcome all = found(space, {"exhaustive"});
    int optima = 0;
    for (uint64_t seed = 1; seed <= 10; ++seed) {
      SearchOutcome one =
          found(space, {"q", all.evaluations / 10, /*seconds=*/0, seed});
      optima += one.time == all.time;
    }
    EXPECT_GE(optima, 9) << devices << " devices";
  }
}

TEST(Search, RepeatsItselfAndDependsOnTheSeed) {
  Draw draw(6);
  Problem problem = randomProblem(draw, 9, 5);
  Network network = *Network::create(problem.cluster);
  ChainSpace space(problem, network);
  for (const char *driver : {"q", "anneal", "random"}) {
    SearchOutcome first = found(space, {driver, 60, 0, 1});
    SearchOutcome again = found(space, {driver, 60, 0, 1});
    EXPECT_EQ(first.plan, again.plan);
    EXPECT_EQ(first.evaluations, again.evaluations);
  }
  EXPECT_NE(found(space, {"random", 20, 0, 1}).plan,
            found(space, {"random", 20, 0, 2}).plan);
}

// All drivers, with one evaluation: of the plan that they start from.
TEST(Search, IsNeverSlowerThanThePlanItStartsFrom) {
  Draw draw(17);
  int inside = 0;
  for (int c = 0; c < 12; ++c) {
    Problem problem = randomProblem(draw, 9, 6, /*unalike=*/c % 2 == 0);
    for (Link &link : problem.cluster.links) // Slow ones.
      link.bandwidth = link.bandwidth * 0.02;
    Result<Plan> spp = runPlanner(problem, planSpp);
    ASSERT_TRUE(spp) << spp.error().message;
    inside += spp->stages.size() > 1;
    for (const SearchDriver &driver : allSearchDrivers()) {
      SearchOutcome outcome;
      Result<Plan> plan =
          planBySearch(problem, {driver.name, 1}, outcome, &*spp);
      ASSERT_TRUE(plan) << plan.error().message;
      EXPECT_EQ(outcome.evaluations, 1);
      EXPECT_LE(plan->time.value, spp->time.value * (1 + 1e-9))
          << driver.name << " on problem " << c;
    }
  }
  EXPECT_GT(inside, 3);
}

TEST(Search, StartsOnlyFromPlansOfTheSpace) {
  Draw draw(17);
  Problem problem = randomProblem(draw, 6, 4);
  Network network = *Network::create(problem.cluster);
  Plan plan;
  plan.stages = {stageOf(0, 4, {2}), stageOf(4, 6, {1, 3})};
  ChainSpace space(problem, network, &plan);
  std::optional<Decisions> decisions = space.decisionsOf(&plan);
  ASSERT_TRUE(decisions);
  EXPECT_EQ(Decisions(decisions->begin() + 1, decisions->end()),
            Decisions({4, 1, 6, 2}));
  Result<Plan> same = space.planOf(*decisions);
  ASSERT_TRUE(same);
  EXPECT_EQ(same->stages[1].devices, plan.stages[1].devices);
  plan.stages[1].devices = {2, 3}; // Device 2 is taken.
  EXPECT_FALSE(ChainSpace(problem, network, &plan).decisionsOf(&plan));
  EXPECT_FALSE(space.decisionsOf(nullptr));
}

/// A chain on equal devices, all connected alike.
static Problem largeProblem(int64_t layers, size_t devices) {
  Draw draw(5);
  Problem problem;
  problem.cluster = randomCluster(draw, devices, 3, 3);
  for (int64_t l = 0; l < layers; ++l)
    addLayer(problem, draw.real(1, 3), draw.real(2, 6), draw.real(1, 10),
             draw.real(1, 40));
  problem.microbatches = 16;
  return problem;
}

TEST(Search, LimitsTheExpansionOfTheDynamicProgram) {
  Problem problem = largeProblem(24, 100);
  Network network = *Network::create(problem.cluster);
  Counted space(problem, network);
  SearchOptions options{"dp", 20};
  int64_t between = 0, last = -1;
  options.progress = [&](const SearchPoint &point) {
    between += point.evaluations == last;
    last = point.evaluations;
  };
  SearchOutcome outcome = found(space, options);
  EXPECT_LE(outcome.evaluations, 20);
  EXPECT_LT(space.bounds, 300'000);
  EXPECT_GT(between, 100); // Reports progress while expanding.
}

namespace {
/// Bounds that take long to compute, and more plans than a double can count.
class Slow : public Counted {
public:
  using Counted::Counted;
  double bound(const Decisions &prefix) const override {
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
    return Counted::bound(prefix);
  }
  long double count(const Decisions &) const override {
    return std::numeric_limits<long double>::max();
  }
};
} // namespace

TEST(Search, EndsDuringAnEpisode) {
  Problem problem = largeProblem(24, 60);
  Network network = *Network::create(problem.cluster);
  Slow space(problem, network);
  SearchOutcome outcome = found(space, {"q", 0, /*seconds=*/0.02});
  EXPECT_GE(outcome.evaluations, 1);
  EXPECT_LT(space.bounds, 150); // The choices of one or two decisions.
}

TEST(Search, PrintsNumbersThatAreTooLargeToCount) {
  Problem problem = largeProblem(24, 60);
  Network network = *Network::create(problem.cluster);
  Slow space(problem, network);
  SearchOutcome outcome = found(space, {"random", 1});
  EXPECT_NE(describeSearch(outcome).find("1 of more than 1.8e+308 plans"),
            std::string::npos)
      << describeSearch(outcome);
}

TEST(Search, DrawsTimesOfZero) {
  SearchOutcome outcome;
  outcome.driver = "q";
  outcome.evaluations = 1;
  outcome.curve = {{1, Seconds(0)}, {1, Seconds(0)}};
  std::string picture = drawSearch({outcome}, Seconds(0));
  EXPECT_EQ(picture.find("nan"), std::string::npos);
  EXPECT_EQ(picture.find("inf"), std::string::npos);
}

TEST(Search, SaysWhyNoPlanRuns) {
  Draw draw(1);
  Problem problem = randomProblem(draw, 4, 2);
  for (Device &device : problem.cluster.devices)
    device.memory = Bytes(1);
  SearchOutcome outcome;
  Result<Plan> plan = planBySearch(problem, {"exhaustive"}, outcome);
  ASSERT_FALSE(plan);
  EXPECT_NE(plan.error().message.find("evaluated plans can run"),
            std::string::npos);
  ASSERT_EQ(plan.error().notes.size(), 1u);
  EXPECT_NE(plan.error().notes[0].find("on device d"), std::string::npos);
}

TEST(Search, RefusesAskedStages) {
  Draw draw(1);
  Problem problem = randomProblem(draw, 4, 2);
  problem.askedStages = {{0, 2, 1, "replicate(1) at model.py:3"}};
  SearchOutcome outcome;
  Result<Plan> plan = planBySearch(problem, {"dp"}, outcome);
  ASSERT_FALSE(plan);
  EXPECT_EQ(plan.error().message,
            "replicate(1) at model.py:3 asks for a stage, and searches by "
            "drivers plan all stages freely; leave out the search or the "
            "annotation");
}

TEST(Mlp, LearnsAFunction) {
  SearchRandom random(1);
  Mlp network(2, random);
  EXPECT_EQ(network.of(std::array{0.5f, 0.5f}), 0);
  double error = 0;
  for (int step = 0; step < 3000; ++step) {
    for (int i = 0; i < 16; ++i) {
      std::array input = {float(random.real()), float(random.real())};
      float target = input[0] * input[1];
      if (step >= 2990)
        error = std::max(error, double(std::abs(network.of(input) - target)));
      network.learn(input, target, 1);
    }
    network.update();
  }
  EXPECT_LT(error, 0.05);
}

TEST(Replay, DrawsByPriorityAndForgetsTheOldest) {
  Replay<int> replay(3);
  SearchRandom random(1);
  for (int i = 0; i < 4; ++i)
    replay.add(i, i == 2 ? 6 : 1);
  ASSERT_EQ(replay.size(), 3u);
  EXPECT_EQ(replay[0], 3); // In the place of 0.
  int drawn = 0;
  for (int i = 0; i < 8000; ++i)
    drawn += replay[replay.draw(random)] == 2;
  EXPECT_NEAR(drawn, 6000, 200);
  EXPECT_DOUBLE_EQ(replay.chance(2), 0.75);
}
