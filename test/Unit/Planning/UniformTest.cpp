//===- UniformTest.cpp - plans with equal stages and replicas -------------===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "stagewright/Planning/Baselines/Uniform.h"
#include <gtest/gtest.h>
#include <map>
#include <tuple>

using namespace stagewright;

static constexpr ActionKind F = ActionKind::Forward,
                            I = ActionKind::InputGradient;

/// Eight equal layers, forward 1 s, backward 2 s, on four devices with almost
/// free transfers. A layer keeps 100 bytes for its backward, or at level 1 10
/// bytes for half a second more; its parameters are 40 bytes.
static Problem eight(int64_t memory) {
  Problem problem;
  problem.cluster = *localCluster(4);
  for (Device &device : problem.cluster.devices)
    device.memory = Bytes(memory);
  for (Link &link : problem.cluster.links)
    link = {link.from, link.to, Bandwidth(1e12), Seconds(0)};
  problem.microbatches = 8;
  problem.wholeBackward = true;
  for (int64_t l = 0; l < 8; ++l) {
    Layer layer{"l" + std::to_string(l),
                {{Seconds(1), Seconds(2), Seconds(0)}}};
    layer.levels = {{{Seconds(0.5)}, {}, {}}};
    problem.layers.push_back(layer);
    problem.values.push_back({Bytes(90), {l, F}, {{l, I, 0b01}}});
    problem.values.push_back({Bytes(10), {l, F}, {{l, I, 0b11}}});
    problem.residents.push_back({Bytes(40), ResidentKind::Parameter, {l}});
    if (l + 1 == 8)
      break;
    problem.values.push_back({Bytes(1), {l, F}, {{l + 1, F}}});
    problem.values.push_back({Bytes(1), {l + 1, I}, {{l, I}}});
  }
  return problem;
}

using Key = std::tuple<int64_t, int64_t, int64_t>; ///< replicas, ranks, chunks

static std::map<Key, UniformPlan> byShape(const Problem &problem) {
  auto plans = uniformPlans(problem);
  EXPECT_TRUE(plans.ok()) << plans.error().message;
  std::map<Key, UniformPlan> shapes;
  for (UniformPlan &it : *plans) {
    Key key{it.replicas, it.ranks, it.chunks};
    if (auto known = shapes.find(key); known == shapes.end())
      shapes.emplace(key, std::move(it));
  }
  return shapes;
}

/// r replicas of p devices with v chunks each take M / r microbatches of 24 / p
/// s, and p - 1 chunks of fill and drain; interleaved 1F1B and others reach
/// this.
TEST(Uniform, TakesWhatTheFormulaSays) {
  auto shapes = byShape(eight(1 << 20));
  ASSERT_EQ(shapes.size(), 1u + 4u + 2u);
  for (const auto &[key, it] : shapes) {
    auto [r, p, v] = key;
    ASSERT_TRUE(it.plan) << r << " x " << p << ", " << v;
    if (8 % (p * v) != 0)
      continue; // Stages have one or two layers.
    double each = 24.0 / double(p);
    EXPECT_NEAR(it.plan->time.value,
                8.0 / double(r) * each + double(p - 1) * each / double(v), 1e-3)
        << r << " x " << p << ", " << v;
    EXPECT_EQ(it.level, 0);
  }
}

/// One device with a replica holds 320 bytes of parameters and 800 of a
/// microbatch, or 80 at level 1, which takes a sixth more time.
TEST(Uniform, ComputesAgainWhereMemoryIsShort) {
  auto shapes = byShape(eight(1119));
  const UniformPlan &alone = shapes.at({4, 1, 1});
  ASSERT_TRUE(alone.plan);
  EXPECT_EQ(alone.level, 1);
  EXPECT_NEAR(alone.plan->time.value, 2 * (24 + 4), 1e-3);
  // With two devices per pipeline, each holds half of the parameters.
  EXPECT_EQ(shapes.at({2, 2, 1}).level, 0);

  shapes = byShape(eight(399));
  const UniformPlan &none = shapes.at({4, 1, 1});
  EXPECT_FALSE(none.plan);
  EXPECT_EQ(none.need, Bytes(400));
}

TEST(Uniform, TheTableHasTheFastestFirst) {
  Problem problem = eight(399);
  auto plans = uniformPlans(problem);
  ASSERT_TRUE(plans.ok());
  std::string table = uniformTable(problem, *plans, Seconds(50));
  double before = 0;
  size_t fitting = 0;
  for (const UniformPlan &it : *plans)
    if (it.plan) {
      EXPECT_GE(it.plan->time.value, before);
      before = it.plan->time.value;
      EXPECT_EQ(&it - plans->data(), std::ptrdiff_t(fitting++));
    }
  EXPECT_GT(fitting, 0u);
  EXPECT_NE(table.find("more do not fit; the smallest of these, "),
            std::string::npos)
      << table;
}
