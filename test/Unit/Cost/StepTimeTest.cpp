//===- StepTimeTest.cpp - estimated times of a step's calls ---------------===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "stagewright/Cost/StepTime.h"
#include <gtest/gtest.h>

using namespace stagewright;

namespace {

/// A device with 1 TB/s, 10 TFLOP/s and 100 TFLOP/s in bf16, at every size.
Cluster cluster() {
  Cluster it;
  it.name = "lab";
  it.devices = {{"g0", "GPU", 0, FlopRate(1e13), Bandwidth(1e12),
                 Bytes(int64_t(1) << 30)}};
  it.devices[0].rates["bf16"] = FlopRate(1e14);
  it.devices[0].contractions.processors = 0;
  return it;
}

RankTime timeOf(const std::string &calls, const Cluster &on = cluster()) {
  auto ranks = estimateStep(
      R"({"ranks": [{"device": "g0", "calls": [)" + calls + "]}]}", on);
  EXPECT_TRUE(ranks) << ranks.error().message;
  return ranks->front();
}

std::string kernel(int64_t threads) {
  return R"({"class": "elements", "name": "kernel_0", "nodes": {"a.F": 2},
             "read": 600000000, "written": 400000000, "flops": 8, "blocks": 3,
             "threads": )" +
         std::to_string(threads) + "}";
}

TEST(StepTime, KernelsTakeTheirBytes) {
  RankTime time = timeOf(kernel(1 << 20));
  EXPECT_EQ(time.nodes, 2);
  EXPECT_EQ(time.ours, Bytes(2000000000));
  EXPECT_DOUBLE_EQ(time.calls[0].seconds.value, 1e-3);
  EXPECT_DOUBLE_EQ(time.sum.value, 2e-3 + 2 * kNodeSeconds.value);
}

TEST(StepTime, FewThreadsReachLessOfTheBandwidth) {
  // 375 threads with 16 bytes each in flight for 0.6 us: 10 GB/s.
  EXPECT_DOUBLE_EQ(timeOf(kernel(375)).calls[0].seconds.value, 0.1);
  // 128 threads use 1 % of this device's lanes, so 1 % of its rate.
  Cluster lanes = cluster();
  lanes.devices[0].contractions.processors = 100;
  std::string busy = R"({"class": "loops", "name": "k", "nodes": {"": 1},
      "read": 8, "written": 8, "flops": 1e9, "blocks": 1, "threads": 128})";
  EXPECT_DOUBLE_EQ(timeOf(busy, lanes).calls[0].seconds.value, 1e-2);
}

TEST(StepTime, OurAttentionOnTensorCoresHasHalfTheLibrarysRate) {
  RankTime time = timeOf(R"({"class": "tensor attention", "name": "k",
      "nodes": {"": 1}, "read": 8, "written": 8, "flops": 1e11, "blocks": 9,
      "threads": 1152})");
  EXPECT_DOUBLE_EQ(time.calls[0].seconds.value, 2e-3 / kAttentionShare);
  EXPECT_EQ(time.attention.value, 0);
}

TEST(StepTime, ProductsRunAtTheRateOfTheirType) {
  std::string product =
      R"({"class": "product", "name": "p", "nodes": {"a.F": 1},
      "read": 8, "written": 8, "flops": 1e11, "type": "bf16", "batch": 1,
      "m": 500, "n": 1000, "k": 100000})";
  RankTime time = timeOf(product);
  EXPECT_DOUBLE_EQ(time.calls[0].seconds.value, 1e-3);
  EXPECT_DOUBLE_EQ(time.products.value, 1e-3 / kProductShare);
}

const std::string gradient =
    R"({"class": "attention", "name": "gradient", "nodes": {"a.B": 3},
        "read": 8, "written": 8, "flops": 1e11, "type": "bf16",
        "scores": 500000000})";

TEST(StepTime, DeterministicGradientsPayForTheirScores) {
  RankTime time = timeOf(gradient);
  EXPECT_DOUBLE_EQ(time.attention.value, 3e-3 / kAttentionShare);
  EXPECT_EQ(time.scores, Bytes(3000000000)); // 1.5 GB written, 1.5 GB read
  EXPECT_DOUBLE_EQ(time.scoreTime.value, 3e-3);
  EXPECT_EQ(time.nodes, 3); // the array of scores adds no call
  EXPECT_NE(toText({time}).find("pp-run --any-order saves that"),
            std::string::npos);
}

TEST(StepTime, MessagesRunBesideTheRest) {
  RankTime time = timeOf(
      R"({"class": "message", "name": "to rank 1", "nodes": {"": 1},
          "read": 1000000, "written": 0, "flops": 0})");
  EXPECT_EQ(time.nodes, 0);
  EXPECT_EQ(time.sum, Seconds(0));
  EXPECT_EQ(time.calls.size(), 1u);
}

// A rank that computes nothing has a sum of 0.
TEST(StepTime, ShareOfNothingIsNothing) {
  RankTime time = timeOf(kernel(1 << 20));
  time.sum = Seconds(0);
  for (StepCall &call : time.calls)
    call.count = 0;
  EXPECT_NE(toJson({time}).find("\"share\": 0.0"), std::string::npos)
      << toJson({time});
}

TEST(StepTime, SortsByTimeAndPrintsAllRanks) {
  RankTime first = timeOf(kernel(1 << 20) + "," + gradient);
  EXPECT_EQ(first.calls[0].kind, "attention");
  std::string text = toText({first, timeOf(kernel(1 << 20))});
  EXPECT_TRUE(text.starts_with("rank 0 of 2 (g0, GPU): estimated "));
  EXPECT_NE(text.find("\nrank 1 of 2 (g0, GPU): estimated 2.0 ms"),
            std::string::npos);
  EXPECT_NE(toJson({first}).find("\"blocks\": 3"), std::string::npos);
}

TEST(StepTime, RefusesProcessors) {
  Cluster processors = *localCluster(1);
  auto ranks =
      estimateStep(R"({"ranks": [{"device": "d0", "calls": []}]})", processors);
  ASSERT_FALSE(ranks);
  EXPECT_EQ(ranks.error().message,
            "the devices of the cluster 'local' are CPU cores, and the step "
            "is for GPUs: name a cluster of GPUs, for example --cluster=h100, "
            "or run pp-run --explain-time=h100 on the artifact");
}

} // namespace
