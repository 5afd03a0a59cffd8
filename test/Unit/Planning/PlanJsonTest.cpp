//===- PlanJsonTest.cpp - plans as JSON and as tables ---------------------===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "stagewright/Planning/PlanJson.h"
#include <gtest/gtest.h>

using namespace stagewright;

namespace {

Problem fourLayers() {
  Problem problem;
  problem.cluster = *localCluster(3);
  for (const char *name : {"a", "b", "c", "d"})
    problem.layers.push_back({name, {{Seconds(1), Seconds(2), Seconds()}}});
  problem.microbatches = 8;
  return problem;
}

/// {a, b, d} on d0 and d1, {c} on d2; all quantities are set.
Plan somePlan() {
  Plan plan;
  plan.planner = "spp";
  plan.value = 30;
  plan.stages.resize(2);
  plan.stages[0].layers = {0, 1, 3};
  plan.stages[0].devices = {0, 1};
  plan.stages[0].recompute = true;
  plan.stages[1].layers = {2};
  plan.stages[1].devices = {2};
  plan.stages[0].times = {Seconds(1.5), Seconds(4), Seconds(0.5)};
  plan.stages[0].allReduce = Seconds(0.25);
  plan.stages[0].tail = Seconds(0.125);
  plan.stages[0].memory = Bytes(2048);
  plan.stages[1].times = {Seconds(1), Seconds(2), Seconds()};
  plan.stages[1].binding = Binding::Channel;
  plan.order = ExecutionOrder::Window;
  plan.time = Seconds(30);
  plan.planBound = Seconds(28);
  plan.familyBound = Seconds(24);
  plan.upperBound = Seconds(40);
  plan.explanation = {"the next best is 1 stage, 31 s"};
  return plan;
}

TEST(PlanJson, HoldsThePlan) {
  EXPECT_EQ(planToJson(fourLayers(), somePlan()), R"({
  "planner": "spp",
  "objective": "time",
  "value": 30.0,
  "time_s": 30.0,
  "lower_bound_plan_s": 28.0,
  "lower_bound_family_s": 24.0,
  "upper_bound_s": 40.0,
  "gap": 0.25,
  "order": "window",
  "microbatches": 8,
  "stages": [
    {
      "nodes": [
        "a",
        "b",
        "d"
      ],
      "devices": [
        "d0",
        "d1"
      ],
      "replicas": 2,
      "recompute": true,
      "forward_s": 1.5,
      "backward_s": 4.5,
      "all_reduce_s": 0.25,
      "tail_s": 0.125,
      "memory_bytes": 2048,
      "bound_by": "compute"
    },
    {
      "nodes": [
        "c"
      ],
      "devices": [
        "d2"
      ],
      "replicas": 1,
      "recompute": false,
      "forward_s": 1.0,
      "backward_s": 2.0,
      "all_reduce_s": 0.0,
      "tail_s": 0.0,
      "memory_bytes": 0,
      "bound_by": "channel"
    }
  ],
  "explanation": [
    "the next best is 1 stage, 31 s"
  ]
}
)");
}

TEST(PlanJson, IsReadBack) {
  Problem problem = fourLayers();
  Result<Plan> read =
      planFromJson(planToJson(problem, somePlan()), "f", problem);
  ASSERT_TRUE(read) << read.error().message;
  Plan expected = somePlan();
  EXPECT_EQ(read->order, expected.order);
  ASSERT_EQ(read->stages.size(), 2u);
  for (size_t s : {0, 1}) {
    EXPECT_EQ(read->stages[s].layers, expected.stages[s].layers);
    EXPECT_EQ(read->stages[s].devices, expected.stages[s].devices);
    EXPECT_EQ(read->stages[s].recompute, expected.stages[s].recompute);
    EXPECT_EQ(read->stages[s].ways, 1);
  }
}

TEST(PlanJson, KeepsTheStagesOfAPipelineOfGangs) {
  Problem problem = fourLayers();
  Plan plan = somePlan();
  for (int64_t s : {0, 1})
    plan.stages[size_t(s)].gangStage = s;
  std::string text = planToJson(problem, plan);
  EXPECT_NE(text.find("\"gang_stage\": 1"), std::string::npos) << text;
  Result<Plan> read = planFromJson(text, "f", problem);
  ASSERT_TRUE(read) << read.error().message;
  EXPECT_EQ(gangStagesOf(*read), (GangStages{0, 1}));
  EXPECT_EQ(gangStagesOf(
                *planFromJson(planToJson(problem, somePlan()), "f", problem)),
            GangStages(2));
  // Numbers that do not follow one another.
  auto error = [&](std::optional<int64_t> first, std::optional<int64_t> other) {
    plan.stages[0].gangStage = first;
    plan.stages[1].gangStage = other;
    return verifyStages(problem, plan).error().message;
  };
  std::string rule = "; give it to all stages or none, first 0, then the same "
                     "as that of the stage before or one more";
  EXPECT_EQ(error(1, 1), "stage 0 of the plan has 'gang_stage' 1" + rule);
  EXPECT_EQ(error(0, 2), "stage 1 of the plan has 'gang_stage' 2, the one "
                         "before it 'gang_stage' 0" +
                             rule);
  EXPECT_EQ(error(0, std::nullopt), "stage 1 of the plan has no 'gang_stage', "
                                    "the one before it 'gang_stage' 0" +
                                        rule);
}

TEST(PlanJson, Errors) {
  auto error = [](const std::string &text) {
    Result<Plan> plan = planFromJson(text, "f", fourLayers());
    return plan ? "none" : plan.error().message;
  };
  EXPECT_EQ(error("{"), "'f' is not JSON");
  EXPECT_EQ(error("[]"), "f has no list 'stages'");
  EXPECT_EQ(error(R"({"stages": [3]})"), "f: stage 0 has no list 'nodes'");
  EXPECT_EQ(error(R"({"stages": [{"nodes": ["a"]}]})"),
            "f: stage 0 has no list 'devices'");
  EXPECT_EQ(error(R"({"stages": [{"nodes": ["z"], "devices": []}]})"),
            "f: stage 0 names \"z\", which is not a layer of the model");
  EXPECT_EQ(error(R"({"stages": [{"nodes": ["a"], "devices": [0]}]})"),
            "f: stage 0 names 0, which is not a device of the cluster");
  EXPECT_EQ(error(R"({"stages": [{"nodes": ["a"], "devices": ["d0"],
                      "recompute": 1}]})"),
            "f: stage 0 has 'recompute' 1, expected true or false");
  EXPECT_EQ(error(R"({"stages": [{"nodes": ["a"], "devices": ["d0"],
                      "ways": 2}]})"),
            "f: stage 0 has 'ways' 2, which must divide the number of its "
            "devices, 1");
  EXPECT_EQ(error(R"({"stages": [{"nodes": ["a"], "devices": ["d0"],
                      "rows": [1.5]}]})"),
            "f: stage 0 needs a list of numbers of samples in 'rows', got "
            "[1.5]");
  EXPECT_EQ(error(R"({"stages": [{"nodes": ["a"], "devices": ["d0"],
                      "gang_stage": "0"}]})"),
            "f: stage 0 has 'gang_stage' \"0\", expected the number of its "
            "stage of the pipeline");
  EXPECT_EQ(error(R"({"order": "zigzag", "stages": []})").substr(0, 3), "f: ");
}

TEST(PlanJson, Table) {
  EXPECT_EQ(
      planTable(fourLayers(), somePlan(), /*explain=*/true),
      "spp: 2 stages on cluster 'local', 8 microbatches\n"
      "stage  layers  devices  forward  backward  all-reduce  memory   bound "
      "by  busy\n"
      "0      0-1, 3  d0-d1    1.5 s    4.5 s     250.0 ms    2.0 KiB  compute"
      "   #################### recomputes\n"
      "1      2       d2       1.0 s    2.0 s     0.0 s       0 B      channel"
      "   ##########\n"
      "30 s a step in window order, at most 25.0 % above the fastest plan of "
      "this family (at least 24 s); no order of this plan is faster than 28 s; "
      "window "
      "order takes at most 40 s\n"
      "- the next best is 1 stage, 31 s\n");
}

} // namespace
