//===- SegmentsTest.cpp - orders as loops ---------------------------------===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "stagewright/Scheduling/Segments.h"
#include "../OrderText.h"
#include <gtest/gtest.h>

using namespace stagewright;

static constexpr ActionKind F = ActionKind::Forward, B = ActionKind::Backward;

TEST(Segments, GPipeIsTwoLoops) {
  auto segments =
      compressToSegments(familyOf(*findGenerator("gpipe"), 2, false));
  ASSERT_TRUE(segments);
  std::vector<Segment> expected = {{{0, false}, {0, true}, {{F, 1, 0}}},
                                   {{0, false}, {0, true}, {{B, 1, 0}}}};
  EXPECT_EQ((*segments)[1], expected);
}

TEST(Segments, OneFOneBIsPrologueLoopEpilogue) {
  auto segments =
      compressToSegments(familyOf(*findGenerator("1f1b"), 2, false));
  ASSERT_TRUE(segments);
  std::vector<Segment> first = {
      {{0, false}, {2, false}, {{F, 0, 0}}},
      {{0, false}, {-2, true}, {{B, 0, 0}, {F, 0, 2}}},
      {{-2, true}, {0, true}, {{B, 0, 0}}}};
  EXPECT_EQ((*segments)[0], first);
  std::vector<Segment> last = {{{0, false}, {0, true}, {{F, 1, 0}, {B, 1, 0}}}};
  EXPECT_EQ((*segments)[1], last);
}

TEST(Segments, BoundsAreClamped) {
  SegmentBound bound{-3, true};
  EXPECT_EQ(bound.at(2), 0);
  EXPECT_EQ(bound.at(5), 2);
  EXPECT_EQ((SegmentBound{4, false}).at(3), 3);
}

TEST(Segments, ReproduceEveryOrder) {
  for (const Generator &generator : allGenerators()) {
    if (!generator.anyMicrobatches)
      continue;
    for (int64_t stages : {1, 2, 3, 4, 7, 16})
      for (bool forwardOnly : {false, true}) {
        ScheduleFamily family = familyOf(generator, stages, forwardOnly);
        auto segments = compressToSegments(family);
        ASSERT_TRUE(segments) << segments.error().message;
        for (int64_t microbatches : {1, 2, 3, 5, 8, 64, 512}) {
          Schedule schedule = family(microbatches);
          for (int64_t rank = 0; rank < stages; ++rank)
            EXPECT_EQ(expandSegments((*segments)[rank], microbatches),
                      schedule.ranks[rank]);
        }
      }
  }
}

/// Compressing an order to loops and expanding them must give the same order.
void expectLoops(const Order &order, int64_t microbatches, size_t bodies) {
  auto segments = compressOrder(order, microbatches, order.size());
  ASSERT_TRUE(segments);
  size_t actions = 0;
  for (const Segment &segment : *segments)
    actions += segment.body.size();
  EXPECT_EQ(actions, bodies);
  EXPECT_EQ(expandSegments(*segments, microbatches), order);
  EXPECT_FALSE(compressOrder(order, microbatches, bodies - 1));
}

TEST(Segments, AnOrderAsItStandsTakesStepsOfAGroup) {
  // Two chunks that alternate after two microbatches: one loop with step 2.
  expectLoops(parseOrder("0F0 0F1 2F0 2F1 0F2 0F3 2F2 2F3 0F4 0F5 2F4 2F5"), 6,
              4);
  // An order edited by hand: 0B0 0B2 0B1 0B3 is a loop of two iterations.
  expectLoops(parseOrder("0F0 0F1 0F2 0F3 0B0 0B2 0B1 0B3"), 4, 3);
  expectLoops(parseOrder("0F3 0F1 0F2 0F0"), 4, 3);
}

TEST(Segments, AnOrderWithoutRepetitionIsAnError) {
  // Every second microbatch counts down: no loop expresses that.
  ScheduleFamily family = [](int64_t microbatches) {
    Schedule schedule{"odd", 1, microbatches, {{}}};
    for (int64_t m = 0; m < microbatches; ++m)
      schedule.ranks[0].push_back({F, 0, m % 2 ? m : microbatches - 1 - m});
    return schedule;
  };
  auto segments = compressToSegments(family);
  ASSERT_FALSE(segments);
  EXPECT_EQ(
      segments.error().message.find("schedule 'odd' on rank 0 does not repeat"),
      0u);
}
