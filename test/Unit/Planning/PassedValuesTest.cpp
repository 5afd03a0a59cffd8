//===- PassedValuesTest.cpp - values between stages of a rank -------------===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Four levels on two devices, each level a stage: what a device passes to
// itself is counted once for each microbatch, not as a message.
//
//===----------------------------------------------------------------------===//

#include "Placed/PassedValues.h"
#include <gtest/gtest.h>

using namespace stagewright;

namespace {
constexpr auto F = ActionKind::Forward;
constexpr auto I = ActionKind::InputGradient;
constexpr auto W = ActionKind::WeightGradient;

class PassedValues : public testing::Test {
protected:
  PassedValues() {
    problem.model.sharesRings = true;
    problem.layers.resize(4);
    for (int64_t layer = 0; layer < 4; ++layer)
      stages.emplace_back().layers = {layer};
    place({0, 0, 0, 1});
  }

  void place(const std::vector<size_t> &devices) {
    for (size_t stage = 0; stage < stages.size(); ++stage)
      stages[stage].devices = {devices[stage]};
  }
  void add(int64_t bytes, LayerPhase producer, std::vector<LayerPhase> uses) {
    problem.values.push_back({Bytes(bytes), producer, std::move(uses), {}});
  }
  StagesMemory memory() const { return memoryOfStages(problem, stages); }

  Problem problem;
  std::vector<StagePlan> stages;
};
} // namespace

TEST_F(PassedValues, NoRingHoldsWhatADevicePassesToItself) {
  add(100, {0, F}, {{1, F}, {2, F}, {3, F}});
  auto [held, passed] = memory();
  EXPECT_EQ(held[1].received, 0);
  EXPECT_EQ(held[2].received, 0);
  EXPECT_EQ(held[3].received, 100); // From another device.
  ASSERT_EQ(passed.size(), 2u);     // Each stage that reads it has its own.
  for (int64_t to : {1, 2}) {
    EXPECT_EQ(passed[size_t(to) - 1].from, 0);
    EXPECT_EQ(passed[size_t(to) - 1].to, to);
    EXPECT_EQ(passed[size_t(to) - 1].toPhase, F);
    EXPECT_EQ(passed[size_t(to) - 1].bytes, 100);
  }
}

TEST_F(PassedValues, BackwardsPassTheOtherWay) {
  add(10, {2, I}, {{1, I}, {0, I}});
  auto [held, passed] = memory();
  EXPECT_EQ(held[0].received, 0);
  EXPECT_EQ(held[1].received, 0);
  ASSERT_EQ(passed.size(), 2u);
  EXPECT_EQ(passed[0].from, 2);
  EXPECT_EQ(passed[0].to, 0);
  EXPECT_EQ(passed[1].to, 1);
}

TEST_F(PassedValues, ALaterBackwardKeepsWhatItReads) {
  add(10, {0, F}, {{1, F}, {1, I}, {2, I}, {2, W}});
  auto [held, passed] = memory();
  EXPECT_EQ(held[1].receivedStash.all(), 0);
  EXPECT_EQ(held[2].receivedStash.all(), 0);
  ASSERT_EQ(passed.size(), 2u);
  EXPECT_EQ(passed[0].toPhase, I);
  EXPECT_EQ(passed[1].to, 2);
  EXPECT_EQ(passed[1].toPhase, W);
}

TEST_F(PassedValues, ItsOwnStageKeepsAnother) {
  add(10, {0, F}, {{1, F}, {1, I}, {0, I}});
  auto [held, passed] = memory();
  EXPECT_EQ(held[0].stash.toInput, 10);
  EXPECT_EQ(held[1].receivedStash.all(), 0);
  EXPECT_EQ(passed.size(), 1u);
}

TEST_F(PassedValues, EachStageHoldsMessagesOfOtherDevices) {
  place({1, 0, 0, 0});
  add(10, {0, F}, {{1, F}, {1, I}, {2, F}, {2, I}, {3, I}});
  auto [held, passed] = memory();
  for (size_t stage : {1, 2, 3})
    EXPECT_EQ(held[stage].receivedStash.toInput, 10);
  EXPECT_TRUE(passed.empty());
}

TEST_F(PassedValues, ADeviceHoldsAParameterOnce) {
  problem.model.optimizerState = 2; // Held by the first stage of a parameter.
  problem.residents.push_back({Bytes(8), ResidentKind::Parameter, {0, 2, 3}});
  problem.residents.push_back({Bytes(4), ResidentKind::Gradient, {0, 2, 3}});
  auto [held, passed] = memory();
  EXPECT_EQ(held[0].once, 8 + 16 + 4);
  EXPECT_EQ(held[2].once, 4); // Each stage adds up a part of its own.
  EXPECT_EQ(held[3].once, 8 + 4);
}

TEST_F(PassedValues, OtherProblemsKeepTheirRings) {
  problem.model.sharesRings = false;
  add(100, {0, F}, {{1, F}});
  auto [held, passed] = memory();
  EXPECT_EQ(held[1].received, 100);
  EXPECT_TRUE(passed.empty());
}

// If two microbatches run one after the other, there is one copy of a value at
// a time. If both run the first stage before either runs the second, there are
// two.
TEST_F(PassedValues, ValuesExistFromTheFirstToTheLastAction) {
  add(100, {0, F}, {{1, F}});
  auto bytesOf = [&](const Order &order) {
    auto [held, passed] = memory();
    RankMemory rank;
    for (int64_t stage : {0, 1})
      rank.add(held[size_t(stage)], ByLife(2), 2, stage);
    rank.add(passed.front(), /*inFlight=*/4);
    rank.share(order, /*packer=*/nullptr);
    return rank.total().value;
  };
  auto action = [](ActionKind kind, int64_t stage, int64_t microbatch) {
    Action made;
    made.kind = kind;
    made.stage = stage;
    made.microbatch = microbatch;
    return made;
  };
  Order backwards;
  for (int64_t m : {0, 1})
    for (int64_t stage : {1, 0})
      backwards.push_back(action(ActionKind::Backward, stage, m));
  Order inTurn = {action(F, 0, 0), action(F, 1, 0), action(F, 0, 1),
                  action(F, 1, 1)};
  Order together = {action(F, 0, 0), action(F, 0, 1), action(F, 1, 0),
                    action(F, 1, 1)};
  for (Order *order : {&inTurn, &together})
    order->insert(order->end(), backwards.begin(), backwards.end());
  EXPECT_EQ(bytesOf(inTurn), 100);
  EXPECT_EQ(bytesOf(together), 200);
}
