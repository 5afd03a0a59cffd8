//===- OrderDepthsTest.cpp - depths of rings for one order ----------------===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "stagewright/Simulation/OrderDepths.h"
#include "../OrderText.h"
#include "stagewright/Scheduling/Generators.h"
#include "stagewright/Scheduling/Verify.h"
#include <gtest/gtest.h>
#include <numeric>

using namespace stagewright;

static constexpr ActionKind F = ActionKind::Forward;
static constexpr ActionKind I = ActionKind::InputGradient;
static constexpr ActionKind W = ActionKind::WeightGradient;

static std::vector<int64_t> upTo(int64_t count) {
  std::vector<int64_t> numbers(count);
  std::iota(numbers.begin(), numbers.end(), 0);
  return numbers;
}

static Schedule orderOf(std::vector<const char *> ranks, int64_t stages,
                        int64_t microbatches) {
  Schedule schedule{"hand", stages, microbatches, {}};
  for (const char *rank : ranks)
    schedule.ranks.push_back(parseOrder(rank));
  return schedule;
}

TEST(OrderDepths, OneFOneBHoldsTheDistanceToTheEnd) {
  Schedule schedule = *generateOneFOneB({4, 8});
  OrderDepths depths = *OrderDepths::create(schedule, chainGraph(4, false));
  for (int64_t stage = 0; stage < 4; ++stage)
    EXPECT_EQ(depths.between({F, stage}, {I, stage}, upTo(8)), 4 - stage);
  EXPECT_EQ(depths.between({F, 0}, {F, 1}, upTo(8)), 2);
  // A single message needs one slot.
  EXPECT_EQ(depths.between({F, 0}, {F, 1}, {5}), 1);
}

TEST(OrderDepths, SlotsFollowTheOrderNotTheNumberHeld) {
  // At most two are held at once. But 0 and 2 are held together, and have the
  // same slot in a ring of two, so three slots are needed.
  Schedule schedule = orderOf({"0F0 0F2 0B0 0F1 0B2 0F3 0B1 0B3"}, 1, 4);
  OrderDepths depths = *OrderDepths::create(schedule, chainGraph(1, false));
  EXPECT_EQ(depths.between({F, 0}, {I, 0}, upTo(4)), 3);
  // Microbatches 0 and 1 are never held together.
  EXPECT_EQ(depths.between({F, 0}, {I, 0}, {0, 1}), 1);
}

TEST(OrderDepths, WhatIsKeptFromIToWHasItsOwnDepth) {
  Schedule schedule = orderOf({"0F0 0I0 0F1 0I1 0F2 0I2 0W0 0W1 0W2"}, 1, 3);
  OrderDepths depths = *OrderDepths::create(schedule, chainGraph(1, false));
  EXPECT_EQ(depths.between({F, 0}, {I, 0}, upTo(3)), 1);
  EXPECT_EQ(depths.between({I, 0}, {W, 0}, upTo(3)), 3);
}

TEST(OrderDepths, NoScheduleWaitsForASlot) {
  for (const Generator &generator : allGenerators())
    for (int64_t ranks : {2, 4})
      for (int64_t microbatches : {4, 8, 16}) {
        ScheduleShape shape{ranks, microbatches};
        shape.chunks = generator.leastChunks;
        Result<Schedule> schedule = generator.generate(shape);
        // In a graph the slots of an edge are numbered by ascending microbatch
        // over all microbatches. Skips generators whose backwards descend, or
        // whose stages are on two ranks.
        std::string_view name = generator.name;
        if (!schedule || generator.placement == Placement::Twin ||
            name == "looped-bfs")
          continue;
        bool forwardOnly = name == "forward-only";
        StageGraph graph = chainGraph(schedule->stages, forwardOnly);
        OrderDepths depths = *OrderDepths::create(*schedule, graph);
        Timeline free =
            *timeSchedule(*schedule, graph, unitTimes(schedule->stages));
        for (StageEdge &edge : graph.edges)
          edge.depth =
              depths.between(edge.producer, edge.lastUse, upTo(microbatches));
        Result<Timeline> bounded =
            timeSchedule(*schedule, graph, unitTimes(schedule->stages));
        ASSERT_TRUE(bounded) << name << bounded.error().message;
        EXPECT_EQ(bounded->makespan, free.makespan) << name;
      }
}
