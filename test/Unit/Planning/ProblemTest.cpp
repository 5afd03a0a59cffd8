//===- ProblemTest.cpp - errors that check() reports ----------------------===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "stagewright/Planning/Planners.h"
#include <gtest/gtest.h>
#include <limits>

using namespace stagewright;

/// Three layers on two cores.
static Problem smallProblem() {
  Problem problem;
  problem.cluster = *localCluster(2);
  problem.layers.assign(3, {"a", {{Seconds(1), Seconds(1), Seconds(1)}}});
  problem.stages = 2;
  problem.microbatches = 4;
  problem.orders = {ExecutionOrder::OneFOneB};
  return problem;
}

static std::string errorOf(const Problem &problem) {
  Status status = problem.check();
  return status ? "" : status.error().message;
}

TEST(Problem, SmallOneIsFine) { EXPECT_EQ(errorOf(smallProblem()), ""); }

TEST(Problem, Requests) {
  Problem problem = smallProblem();
  problem.stages = -1;
  EXPECT_EQ(errorOf(problem), "number of stages must be at least 1, or 0 for "
                              "what is best, got -1");
  problem.stages = 4;
  EXPECT_EQ(errorOf(problem), "4 stages need at least 4 layers, the graph has "
                              "3; ask for fewer stages");
  problem.stages = 3;
  EXPECT_EQ(errorOf(problem),
            "3 stages need 3 devices, cluster 'local' has 2; ask for fewer "
            "stages or a larger cluster");
  problem = smallProblem();
  problem.microbatches = 0;
  EXPECT_EQ(errorOf(problem),
            "number of microbatches must be from 1 to 65536, got 0");
  problem = smallProblem();
  problem.orders.clear();
  EXPECT_EQ(errorOf(problem),
            "no execution order is allowed; allow at least one");
  problem = smallProblem();
  problem.model.optimizerState = -1;
  EXPECT_EQ(errorOf(problem),
            "optimizer state must be from 0 to 1024 bytes for each byte of "
            "parameters, got -1.000000");
  problem = smallProblem();
  problem.cluster.links.clear();
  EXPECT_EQ(planBalance(problem).error().message,
            "no path of links joins devices 'd0' and 'd1'; give a link to one "
            "of them, or a fabric");
}

TEST(Problem, Costs) {
  for (double wrong : {-1.0, std::numeric_limits<double>::quiet_NaN(),
                       std::numeric_limits<double>::infinity()}) {
    Problem problem = smallProblem();
    problem.layers[1].times[0].weightGradient = Seconds(wrong);
    EXPECT_EQ(errorOf(problem).find(
                  "layer 'a' takes a time that is negative or not a number"),
              0u);
  }
  Problem problem = smallProblem();
  problem.layers[1].times.clear();
  EXPECT_EQ(errorOf(problem),
            "layer 'a' has times for 0 device classes, the cluster has 1");
}

TEST(Problem, Numbers) {
  Problem problem = smallProblem();
  problem.values.push_back({Bytes(1), {3, ActionKind::Forward}, {}});
  EXPECT_EQ(errorOf(problem), "a value names layer 3, the graph has 3");
  problem = smallProblem();
  problem.residents.push_back({Bytes(-1), ResidentKind::Parameter, {0}});
  EXPECT_EQ(errorOf(problem), "a parameter has -1 bytes");
}

TEST(Problem, ForwardValuesGoForward) {
  Problem problem = smallProblem();
  problem.values.push_back(
      {Bytes(1), {2, ActionKind::Forward}, {{1, ActionKind::Forward}}});
  EXPECT_EQ(errorOf(problem), "a value of the forward goes from layer 'a' to "
                              "the earlier layer 'a'");
}

TEST(Plan, VerifyRefusesGaps) {
  Problem problem = smallProblem();
  Plan plan = *planBalance(problem);
  EXPECT_TRUE(verify(problem, plan));
  plan.stages[0].layers = {0};
  plan.stages[1].layers = {2};
  EXPECT_EQ(
      verify(problem, plan).error().message,
      "layer 'a' lies on no stage of the plan; its stages need all layers "
      "from 0 to 2");
  plan.stages[1].layers = {0, 1, 2};
  EXPECT_EQ(verify(problem, plan).error().message,
            "layer 'a' lies on stages 0 and 1 of the plan");
  plan.stages[1].layers = {1, 2};
  plan.stages[1].devices = {1, 1};
  EXPECT_EQ(verify(problem, plan).error().message,
            "stage 1 of the plan names device 'd1' twice");
  plan.stages.pop_back();
  EXPECT_EQ(verify(problem, plan).error().message,
            "plan has 1 stages, the problem asks for 2; leave that number out "
            "or give such a plan");
}

TEST(Plan, UnknownPlannerListsTheKnownOnes) {
  std::string known;
  for (const Planner &planner : allPlanners())
    known += (known.empty() ? "" : ", ") + std::string(planner.name);
  EXPECT_EQ(findPlanner("best").error().message,
            "unknown planner 'best'; there are " + known);
  EXPECT_EQ(known.substr(0, 5), "auto,");
}
