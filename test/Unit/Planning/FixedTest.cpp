//===- FixedTest.cpp - plans that the user gives --------------------------===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "PrototypeRows.h"
#include "stagewright/Planning/Evaluate.h"
#include "stagewright/Planning/PlanJson.h"
#include "stagewright/Planning/Planners.h"
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>
#include <sstream>

using namespace stagewright;
using namespace stagewright::testing;
using nlohmann::json;

namespace {

/// `problem` in the prototype's cost model: the all-reduce follows the
/// backward, and channels do not share NICs.
Problem onCluster(Problem problem, const Cluster &cluster) {
  EXPECT_TRUE(placeOn(problem, cluster));
  problem.model.overlapAllReduce = false;
  problem.model.sharedNics = false;
  return problem;
}

double timeOf(Problem problem, ExecutionOrder order) {
  problem.orders = {order};
  Result<Plan> plan = planFixed(problem);
  EXPECT_TRUE(plan) << plan.error().message;
  return plan ? plan->time.value : -1;
}

/// Worked example `name` of golden/planners.json.
struct Example {
  json golden;
  Problem problem;

  Example(const std::string &name, int devices) {
    json all =
        json::parse(sharedText("golden/planners.json"))["worked_examples"];
    golden = all[name];
    json layers = golden.contains("same_as") ? all[golden["same_as"]] : golden;
    std::ostringstream rows;
    for (size_t l = 0; l < layers["f"].size(); ++l)
      rows << layers["f"][l] << ' ' << layers["b"][l] << ' ' << layers["a"][l]
           << ' ' << layers["p"][l] << '\n';
    Result<Problem> read = readChain(rows.str(), name);
    EXPECT_TRUE(read) << read.error().message;
    problem =
        onCluster(*read, hostsOf({devices}, layers["beta"].get<double>(), 1));
    problem.microbatches = layers["M"].get<int64_t>();
    if (golden["plan"].get<std::string>().starts_with('['))
      problem.fixedPlan = golden["plan"].get<std::string>();
  }

  double time(ExecutionOrder order) const { return timeOf(problem, order); }
};

TEST(Fixed, WorkedExample1) {
  Example e("E1", 2);
  EXPECT_DOUBLE_EQ(e.time(ExecutionOrder::Window), e.golden["window"]);
  EXPECT_DOUBLE_EQ(e.time(ExecutionOrder::Greedy), e.golden["greedy"]);
  EXPECT_DOUBLE_EQ(e.time(ExecutionOrder::CapA), e.golden["KA"]);
  EXPECT_DOUBLE_EQ(e.time(ExecutionOrder::EarlyBackward), e.golden["KB"]);
  EXPECT_DOUBLE_EQ(e.time(ExecutionOrder::GPipe), e.golden["gpipe"]);
  EXPECT_DOUBLE_EQ(e.time(ExecutionOrder::OneFOneB), e.golden["KA"]);
}

TEST(Fixed, WorkedExample2) {
  Example e("E2", 2);
  for (ExecutionOrder order : allExecutionOrders())
    EXPECT_DOUBLE_EQ(e.time(order), e.golden["all_orders"]) << toString(order);
}

TEST(Fixed, WorkedExample3) {
  Example e("E3", 3);
  Result<Plan> plan = planFixed(e.problem);
  ASSERT_TRUE(plan) << plan.error().message;
  EXPECT_DOUBLE_EQ(plan->time.value, e.golden["T"]);
  EXPECT_DOUBLE_EQ(plan->stages[0].allReduce.value, e.golden["A"][0]);
  EXPECT_DOUBLE_EQ(plan->stages[1].allReduce.value, e.golden["A"][1]);
  EXPECT_DOUBLE_EQ(plan->stages[0].times.forward.value, 2);
  EXPECT_DOUBLE_EQ(plan->stages[1].times.inputGradient.value, 8);
  // Data parallelism, then a faster plan of two stages.
  e.problem.fixedPlan = "[0,3)x3";
  EXPECT_DOUBLE_EQ(e.time(ExecutionOrder::Window), e.golden["DP_T"]);
  e.problem.fixedPlan = "[0,2)x2 [2,3)x1";
  EXPECT_DOUBLE_EQ(e.time(ExecutionOrder::Window), 40.5);
  EXPECT_DOUBLE_EQ(e.time(ExecutionOrder::Greedy), 40.5);
  EXPECT_DOUBLE_EQ(e.time(ExecutionOrder::CapA), 50.5);
  EXPECT_DOUBLE_EQ(e.time(ExecutionOrder::EarlyBackward), 50.5);
  EXPECT_DOUBLE_EQ(e.time(ExecutionOrder::GPipe), 48.5);
}

TEST(Fixed, WorkedExample4) {
  Example e("E4", 4);
  e.problem.fixedPlan = "[0,1) [1,2) [2,3) [3,4)"; // one device a stage
  EXPECT_DOUBLE_EQ(e.time(ExecutionOrder::Window), e.golden["window"]);
  EXPECT_DOUBLE_EQ(e.time(ExecutionOrder::Greedy), e.golden["greedy"]);
  EXPECT_DOUBLE_EQ(e.time(ExecutionOrder::CapA), e.golden["KA"]);
  EXPECT_DOUBLE_EQ(e.time(ExecutionOrder::EarlyBackward), e.golden["KB"]);
  EXPECT_DOUBLE_EQ(e.time(ExecutionOrder::GPipe), e.golden["gpipe"]);
}

TEST(Fixed, PlansOfThePrototype) {
  const ExecutionOrder orders[] = {
      ExecutionOrder::Window, ExecutionOrder::Greedy, ExecutionOrder::CapA,
      ExecutionOrder::EarlyBackward, ExecutionOrder::GPipe};
  std::vector<PrototypeRow> rows = prototypeRows();
  ASSERT_EQ(rows.size(), 20u);
  for (const PrototypeRow &row : rows) {
    Problem problem = prototypeProblem(row);
    problem.fixedPlan = row.plan;
    for (size_t i = 0; i < 5; ++i)
      EXPECT_NEAR(timeOf(problem, orders[i]), row.orderTimes[i], 1e-6)
          << row.model << ' ' << row.config << ' ' << toString(orders[i]);
  }
}

TEST(Fixed, JsonSaysTheSame) {
  Example e("E3", 3);
  e.problem.fixedPlan = "[0,2)@d2+d0r [2,3)@d1";
  EXPECT_FALSE(planFixed(e.problem));
  e.problem.fixedPlan = "[0,2)@d2+d0 [2,3)@d1";
  Result<Plan> plan = planFixed(e.problem);
  ASSERT_TRUE(plan) << plan.error().message;
  EXPECT_EQ(plan->stages[0].devices, (std::vector<size_t>{2, 0}));
  plan->order = ExecutionOrder::GPipe;
  e.problem.fixedPlan = planToJson(e.problem, *plan);
  Result<Plan> again = planFixed(e.problem);
  ASSERT_TRUE(again) << again.error().message;
  EXPECT_EQ(again->order, ExecutionOrder::GPipe);
  EXPECT_DOUBLE_EQ(again->time.value, 48.5);
  EXPECT_EQ(again->stages[0].devices, plan->stages[0].devices);
}

TEST(Fixed, SamplesOfReplicas) {
  Example e("E3", 3);
  e.problem.samples = 4;
  e.problem.fixedPlan = "[0,2)@d2+d0:3+1 [2,3)@d1";
  Result<Plan> plan = planFixed(e.problem);
  ASSERT_TRUE(plan) << plan.error().message;
  // Three of four samples: 0.75 of one device's time for all samples.
  double whole = e.problem.layers[0].times[0].forward.value +
                 e.problem.layers[1].times[0].forward.value;
  EXPECT_DOUBLE_EQ(plan->stages[0].times.forward.value, 0.75 * whole);
  e.problem.fixedPlan = planToJson(e.problem, *plan);
  Result<Plan> again = planFixed(e.problem);
  ASSERT_TRUE(again) << again.error().message;
  EXPECT_EQ(again->stages[0].rows, (std::vector<int64_t>{3, 1}));
  EXPECT_TRUE(again->stages[1].rows.empty());
}

TEST(Fixed, RecomputingStageTakesItsForwardTwice) {
  Example e("E1", 2);
  e.problem.fixedPlan = "[0,2)x1r [2,4)";
  Result<Plan> plan = planFixed(e.problem);
  ASSERT_TRUE(plan) << plan.error().message;
  EXPECT_TRUE(plan->stages[0].recompute);
  EXPECT_DOUBLE_EQ(plan->stages[0].times.inputGradient.value, 6);
  EXPECT_DOUBLE_EQ(plan->stages[1].times.inputGradient.value, 4);
}

void expectError(const Problem &problem, const std::string &fixedPlan,
                 const std::string &message) {
  Problem asked = problem;
  asked.fixedPlan = fixedPlan;
  Result<Plan> plan = planFixed(asked);
  ASSERT_FALSE(plan) << "expected: " << message;
  EXPECT_EQ(plan.error().message, message);
}

TEST(Fixed, WrongPlans) {
  Problem problem = Example("E1", 2).problem;
  expectError(problem, "",
              "planner 'fixed' has no plan; give one, such as \"[0,2)x2 "
              "[2,3)x1\" or the JSON of a plan");
  for (const char *text :
       {"[0,4", "[0;4)", "0,4", "[0,4)y1", "[0,4)x", "[a,4)",
        "[0,4)x99999999999999999999", "[0,4)x1rr", "[0,4)x2:", "[0,4)x2:1+"})
    expectError(
        problem, text,
        "stage '" + std::string(text) +
            "' of the plan is not of the form [first,end)xreplicas, "
            "followed by r if it recomputes, or [first,end)@d0+d1; "
            ":3+1 after either form states the samples of its replicas");
  for (const char *text : {"[0,5)", "[2,2)", "[-1,4)", "[3,1)"})
    expectError(problem, text,
                "stage '" + std::string(text) +
                    "' of the plan needs 0 <= first < end <= 4, the number of "
                    "layers");
  expectError(problem, "[0,4)x0",
              "stage '[0,4)x0' of the plan needs 1 to 2 replicas, as many as "
              "cluster 'test' has devices");
  expectError(problem, "[0,2)x2 [2,4)x1",
              "the plan needs 3 devices, cluster 'test' has 2; take "
              "fewer replicas or a larger cluster");
  expectError(problem, "[0,4)@d7",
              "stage '[0,4)@d7' of the plan names device 'd7', which cluster "
              "'test' does not have");
  expectError(problem, "[0,4)@d0+d0",
              "stage 0 of the plan names device 'd0' twice");
  expectError(problem, "[0,2) [1,4)",
              "layer '" + problem.layers[1].name +
                  "' lies on stages 0 and 1 of the plan");
  expectError(problem, "[0,2) [3,4)",
              "layer '" + problem.layers[2].name +
                  "' lies on no stage of the plan; its stages need all "
                  "layers from 0 to 3");
  expectError(problem, "{", "'the plan' is not JSON");
}

TEST(Fixed, FewerReplicasAllowed) {
  Problem problem = Example("E1", 2).problem;
  problem.maxReplicas = 1;
  expectError(problem, "[0,4)x2",
              "stage 0 of the plan has 2 replicas, allowed are 1; allow more, "
              "or 0 for any number");
}

TEST(Fixed, WrongSamples) {
  Problem problem = Example("E3", 3).problem;
  problem.samples = 4;
  expectError(problem, "[0,2)x2:3+2 [2,3)",
              "stage 0 of the plan gives its replicas 5 samples, a microbatch "
              "has 4; let them sum up to that, or leave them out and the speed "
              "of the devices decides");
  expectError(problem, "[0,2)x2:4 [2,3)",
              "stage 0 of the plan has 2 devices, and samples for 1; "
              "state one number for each, or leave them out and the speed of "
              "the devices decides");
  expectError(problem, "[0,2)x2:4+0 [2,3)",
              "stage 0 of the plan gives a replica 0 samples, at least 1 is "
              "needed; take one from another replica, or use fewer replicas");
  problem.layers[1].sliceable = false;
  problem.layers[1].mixes = "'math.exp' does";
  expectError(problem, "[0,2)x2:3+1 [2,3)",
              "stage 0 of the plan shares the samples of a microbatch, but "
              "layer '" +
                  problem.layers[1].name +
                  "' mixes its rows: 'math.exp' does; without shares its "
                  "replicas take whole microbatches in turn");
}

TEST(Fixed, TooLittleMemory) {
  Problem problem = Example("E1", 2).problem;
  for (Device &device : problem.cluster.devices)
    device.memory = Bytes(2);
  expectError(problem, "[0,2) [2,4)",
              "stage 0 needs 4 B on device d0, has 2 B; give the stage fewer "
              "layers or more replicas, or the device more memory");
}

} // namespace
