//===- IdealDpGoldenTest.cpp - published maximum loads --------------------===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "../Builds.h"
#include "Loads.h"
#include "MaxLoad/BranchDp.h"
#include "MaxLoad/Ideals.h"
#include "stagewright/Planning/Baselines/Baselines.h"
#include <numeric>

using namespace stagewright;
using namespace stagewright::test;

namespace {

class IdealDpWorkload : public ::testing::TestWithParam<const char *> {};

/// Compares the reported load and the plan's load by definition with `golden`.
void expectLoad(const Problem &problem, const Result<Plan> &plan,
                double golden) {
  ASSERT_TRUE(plan) << plan.error().message;
  EXPECT_EQ(plan->objective, "max-load");
  EXPECT_NEAR(plan->value / golden, 1, 1e-5);
  EXPECT_NEAR(maxLoad(problem, devicesOf(problem, *plan)) / golden, 1, 1e-5);
  EXPECT_GE(plan->time.value, plan->familyBound.value);
  std::set<size_t> devices;
  for (const StagePlan &stage : plan->stages)
    EXPECT_TRUE(devices.insert(stage.devices.front()).second);
}

TEST_P(IdealDpWorkload, ContiguousOptimum) {
  Problem problem = readWorkload(GetParam());
  expectLoad(problem, planIdealDp(problem), goldenLoad(GetParam(), "dp"));
}

TEST_P(IdealDpWorkload, AlongOneOrder) {
  Problem problem = readWorkload(GetParam());
  expectLoad(problem, planIdealDpLinear(problem),
             goldenLoad(GetParam(), "dpl"));
}

/// The column "pipedream". For GNMT inference the public program ignores the
/// output of node 46: that number is in its code.
TEST_P(IdealDpWorkload, BranchesContracted) {
  Problem problem = readWorkload(GetParam());
  std::vector<int64_t> ignored;
  if (std::string(GetParam()) == "layers/gnmt_inference")
    for (size_t layer = 0; layer < problem.layers.size(); ++layer)
      if (problem.layers[layer].name == "node46")
        ignored.push_back(int64_t(layer));
  expectLoad(problem, planBranches(problem, ignored),
             goldenLoad(GetParam(), "pipedream"));
}

INSTANTIATE_TEST_SUITE_P(Golden, IdealDpWorkload,
                         ::testing::Values("layers/bert24_inference",
                                           "layers/bert24_training",
                                           "layers/gnmt_inference",
                                           "layers/gnmt_training",
                                           "operators/bert_l-3_inference",
                                           "operators/bert_l-3_training",
                                           "operators/resnet50_inference"));

/// Of these two, only resnet50's optimum uses the host: it takes layers whose
/// transfers would cost a device more than the host's slow arithmetic costs.
TEST(IdealDpGolden, TheHostPaysForResnetOnly) {
  STAGEWRIGHT_SKIP_IN_SLOW_BUILDS();
  for (const char *name :
       {"layers/gnmt_training", "operators/resnet50_inference"}) {
    Problem problem = readWorkload(name);
    problem.cluster.devices.pop_back();
    ASSERT_EQ(problem.cluster.classes().size(), 1u);
    for (Layer &layer : problem.layers)
      layer.times.pop_back();
    Result<Plan> plan = planIdealDp(problem);
    ASSERT_TRUE(plan) << plan.error().message;
    double more = plan->value / goldenLoad(name, "dp") - 1;
    if (std::string(name) == "layers/gnmt_training")
      EXPECT_NEAR(more, 0, 1e-5);
    else
      EXPECT_GT(more, 0.02);
  }
}

/// The public program counts ideals after the same contractions.
TEST(IdealDpGolden, AsManyIdealsAsThePublicProgram) {
  for (auto [name, count] : {std::pair("layers/bert24_training", 30),
                             {"layers/gnmt_inference", 17914},
                             {"layers/gnmt_training", 17914},
                             {"operators/bert_l-3_inference", 1428},
                             {"operators/bert_l-3_training", 2774},
                             {"operators/resnet50_inference", 241}}) {
    Problem problem = readWorkload(name);
    Result<Network> network = Network::create(problem.cluster);
    ASSERT_TRUE(network);
    std::vector<size_t> order(problem.cluster.devices.size());
    std::iota(order.begin(), order.end(), 0);
    std::optional<Ideals> ideals =
        Ideals::create(makeLoadGraph(problem, *network, order), 20000);
    ASSERT_TRUE(ideals) << name;
    EXPECT_EQ(ideals->size(), size_t(count)) << name;
  }
}

/// The loads of the human experts' splits equal the public program's.
TEST(IdealDpGolden, ExpertSplits) {
  for (std::string name : {"bert24_inference", "bert24_training",
                           "gnmt_inference", "gnmt_training"}) {
    Problem problem = readWorkload("layers/" + name);
    std::map<std::string, int64_t> layerOf;
    for (size_t layer = 0; layer < problem.layers.size(); ++layer)
      layerOf[problem.layers[layer].name] = int64_t(layer);
    std::map<int64_t, std::string> nameOf;
    nlohmann::json file = nlohmann::json::parse(
        readShared("dnn-partitioning/layers/" + name + ".json"));
    for (const auto &node : file["nodes"])
      nameOf[node["id"]] = node["name"];
    std::vector<size_t> deviceOf(problem.layers.size(), size_t(-1));
    nlohmann::json split = nlohmann::json::parse(
        readShared("dnn-partitioning/experts/" + name + "_expert.json"));
    size_t device = 0;
    for (const auto &part : split["fpgas"]) {
      for (int64_t id : part["nodes"])
        if (auto layer = layerOf.find(nameOf[id]); layer != layerOf.end())
          deviceOf[layer->second] = device;
      ++device;
    }
    ASSERT_EQ(std::count(deviceOf.begin(), deviceOf.end(), size_t(-1)), 0);
    EXPECT_NEAR(maxLoad(problem, deviceOf) /
                    goldenLoad("layers/" + name, "expert"),
                1, 1e-5)
        << name;
  }
}

} // namespace
