//===- GeneratorsTest.cpp - orders of the generators ----------------------===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "stagewright/Scheduling/Generators.h"
#include "stagewright/Scheduling/InFlight.h"
#include "stagewright/Scheduling/Verify.h"
#include <gtest/gtest.h>

using namespace stagewright;

/// The order of `rank` without stages: "F0 F1 B0 B1".
static std::string orderOf(const Schedule &schedule, size_t rank) {
  std::string text;
  for (const Action &action : schedule.ranks[rank])
    text += (text.empty() ? "" : " ") + toString(action).substr(1);
  return text;
}

// The published orders for 4 ranks and 6 microbatches, as PyTorch executes
// them.
TEST(Generators, OneFOneBIsThePublishedOrder) {
  Schedule schedule = *generateOneFOneB({4, 6, false});
  EXPECT_EQ(orderOf(schedule, 0), "F0 F1 F2 F3 B0 F4 B1 F5 B2 B3 B4 B5");
  EXPECT_EQ(orderOf(schedule, 1), "F0 F1 F2 B0 F3 B1 F4 B2 F5 B3 B4 B5");
  EXPECT_EQ(orderOf(schedule, 2), "F0 F1 B0 F2 B1 F3 B2 F4 B3 F5 B4 B5");
  EXPECT_EQ(orderOf(schedule, 3), "F0 B0 F1 B1 F2 B2 F3 B3 F4 B4 F5 B5");
}

TEST(Generators, GPipeRunsAllForwardsFirst) {
  Schedule schedule = *generateGPipe({2, 3, false});
  EXPECT_EQ(orderOf(schedule, 0), "F0 F1 F2 B0 B1 B2");
  EXPECT_EQ(schedule.ranks[1].front().stage, 1);
}

// P_B of DAPPLE, section 3.2: 2 (p - r) - 1 forwards first.
TEST(Generators, EarlyBackwardRunsTwoForwardsAHop) {
  Schedule schedule = *generateEarlyBackward({3, 6, false});
  EXPECT_EQ(orderOf(schedule, 0), "F0 F1 F2 F3 F4 B0 F5 B1 B2 B3 B4 B5");
  EXPECT_EQ(orderOf(schedule, 1), "F0 F1 F2 B0 F3 B1 F4 B2 F5 B3 B4 B5");
  EXPECT_EQ(orderOf(schedule, 2), "F0 B0 F1 B1 F2 B2 F3 B3 F4 B4 F5 B5");
}

// The emission of planners.md A.4, window by window.
TEST(Generators, WindowIsTheEmissionByWindows) {
  for (int64_t p = 1; p <= 8; ++p)
    for (int64_t m = 1; m <= 40; ++m) {
      Schedule schedule = *generateWindow({p, m, false});
      for (int64_t r = 0; r < p; ++r) {
        Order order;
        auto emit = [&](ActionKind kind, int64_t microbatch) {
          if (microbatch >= 0 && microbatch < m)
            order.push_back({kind, r, microbatch});
        };
        for (int64_t w = 0; w <= m - 1 + 4 * (p - 1); ++w) {
          if (r == p - 1)
            emit(ActionKind::Forward, w - 2 * r);
          emit(ActionKind::Backward, w - (4 * (p - 1) - 2 * r));
          if (r != p - 1)
            emit(ActionKind::Forward, w - 2 * r);
        }
        ASSERT_EQ(schedule.ranks[r], order) << p << " " << m << " " << r;
      }
    }
}

TEST(Generators, HoldAsManyMicrobatchesAsTheyWarmUpWith) {
  for (int64_t p = 1; p <= 5; ++p)
    for (int64_t m = 1; m <= 20; ++m) {
      auto early = stashedMicrobatches(*generateEarlyBackward({p, m, false}));
      auto window = stashedMicrobatches(*generateWindow({p, m, false}));
      for (int64_t r = 0; r < p; ++r) {
        EXPECT_EQ(early[r], std::min(2 * (p - r) - 1, m));
        EXPECT_EQ(window[r], std::min(r + 1 == p ? 1 : 4 * (p - 1 - r), m));
      }
    }
}

TEST(Generators, ForwardOnlyHasNoBackward) {
  for (const Generator &generator : allGenerators())
    EXPECT_EQ(orderOf(*generator.generate({3, 3, true}), 1), "F0 F1 F2");
}

TEST(Generators, VerifyForEveryShape) {
  for (const Generator &generator : allGenerators())
    for (int64_t stages = 1; stages <= 8; ++stages)
      for (int64_t microbatches = 1; microbatches <= 32; ++microbatches)
        for (bool forwardOnly : {false, true}) {
          Status status =
              verify(*generator.generate({stages, microbatches, forwardOnly}),
                     chainGraph(stages, forwardOnly));
          EXPECT_TRUE(status) << generator.name << " " << stages << " "
                              << microbatches << ": " << status.error().message;
        }
}

TEST(Generators, UnknownNameListsTheKnownOnes) {
  EXPECT_STREQ(findGenerator("1f1b")->symbol, "one_f_one_b");
  EXPECT_EQ(findGenerator("zigzag").error().message,
            "unknown schedule 'zigzag'; there are gpipe, 1f1b, "
            "early-backward, window");
}

TEST(Generators, DapplesPoliciesAreOrdersOfOtherNames) {
  EXPECT_STREQ(findGenerator("dapple-a")->name, "1f1b");
  EXPECT_STREQ(findGenerator("dapple-b")->name, "early-backward");
}
