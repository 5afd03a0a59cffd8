//===- GeneratorsTest.cpp - orders of the generators ----------------------===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "stagewright/Scheduling/Generators.h"
#include "stagewright/Scheduling/InFlight.h"
#include "stagewright/Scheduling/Verify.h"
#include "stagewright/Support/Limits.h"
#include <gtest/gtest.h>
#include <limits>
#include <set>

using namespace stagewright;

/// The order of `rank` without stage numbers: "F0 F1 B0 B1".
static std::string orderOf(const Schedule &schedule, size_t rank) {
  std::string text;
  for (const Action &action : schedule.ranks[rank])
    text += (text.empty() ? "" : " ") + toString(action).substr(1);
  return text;
}

TEST(Generators, GPipeRunsAllForwardsFirst) {
  Schedule schedule = *generateGPipe({2, 3, false});
  EXPECT_EQ(orderOf(schedule, 0), "F0 F1 F2 B0 B1 B2");
  EXPECT_EQ(schedule.ranks[1].front().stage, 1);
}

// The window order is that of docs/planner.md, section 5.
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

/// Calls `check` for every generator and every shape of up to `ranks` ranks and
/// `microbatches` microbatches, with all its numbers of chunks (up to 4).
static void forEveryShape(
    int64_t ranks, int64_t microbatches,
    const std::function<void(const Generator &, const ScheduleShape &)>
        &check) {
  for (const Generator &generator : allGenerators())
    for (int64_t v = generator.leastChunks;
         v <= (generator.mostChunks ? generator.mostChunks : 4); ++v)
      for (int64_t p = 1; p <= ranks; ++p)
        for (int64_t m = 1; m <= microbatches; ++m)
          for (bool forwardOnly : {false, true})
            for (int64_t spare : {int64_t(0), p / 2})
              if (spare == 0 || (generator.anyStages && v > 1))
                check(generator, {p, m, forwardOnly, v, 0, 0.4, {}, spare});
}

TEST(Generators, VerifyForEveryShape) {
  forEveryShape(
      8, 32, [](const Generator &generator, const ScheduleShape &shape) {
        Result<Schedule> schedule = generator.generate(shape);
        std::string text = std::string(generator.name) + " " +
                           std::to_string(shape.ranks) + " " +
                           std::to_string(shape.microbatches) + " " +
                           std::to_string(shape.chunks) + ": ";
        if (!schedule) {
          EXPECT_FALSE(generator.anyMicrobatches) << text;
          EXPECT_EQ(schedule.error().message.find("schedule '" +
                                                  std::string(generator.name) +
                                                  "' needs "),
                    0u);
          return;
        }
        EXPECT_EQ(schedule->kind, generator.name);
        int64_t stages = numStages(generator.placement, shape.ranks,
                                   shape.chunks, shape.spare);
        Status status =
            verify(*schedule, chainGraph(stages, shape.forwardOnly));
        ASSERT_TRUE(status) << text << status.error().message;
        for (int64_t rank = 0; rank < shape.ranks; ++rank) {
          std::vector<int64_t> own = stagesOf(generator.placement, shape.ranks,
                                              shape.chunks, rank, shape.spare);
          for (const Action &action : schedule->ranks[rank]) {
            EXPECT_TRUE(std::count(own.begin(), own.end(), action.stage))
                << text;
            EXPECT_FALSE(shape.forwardOnly &&
                         action.kind != ActionKind::Forward);
            EXPECT_FALSE(!generator.splitsBackward &&
                         action.kind == ActionKind::InputGradient);
          }
        }
      });
}

TEST(Generators, NamesAreUnique) {
  std::set<std::string> names, symbols;
  for (const Generator &generator : allGenerators()) {
    EXPECT_TRUE(names.insert(generator.name).second) << generator.name;
    EXPECT_TRUE(symbols.insert(generator.symbol).second) << generator.name;
  }
}

/// The error of generator `name` for a shape.
static std::string errorOf(const char *name, ScheduleShape shape) {
  Result<Schedule> schedule = findGenerator(name)->generate(shape);
  return schedule ? "" : schedule.error().message;
}

TEST(Generators, ErrorsNameTheNumberAndWhatWouldDo) {
  EXPECT_EQ(errorOf("1f1b", {4, 8, false, 2}),
            "schedule '1f1b' needs 1 chunk per rank, got 2; set the number of "
            "chunks, or take interleaved");
  EXPECT_EQ(
      errorOf("interleaved", {4, 8}),
      "schedule 'interleaved' needs 2 chunks per rank or more, got 1; set "
      "the number of chunks");
  EXPECT_EQ(errorOf("interleaved", {4, 10, false, 2}),
            "schedule 'interleaved' needs groups of at least 4 microbatches on "
            "as many ranks, but 10 in groups of 4 leave one of 2; take 8 or 12 "
            "microbatches, or a group of 10");
  EXPECT_EQ(errorOf("interleaved-zb", {4, 3, false, 2}),
            "schedule 'interleaved-zb' needs groups of at least 4 microbatches "
            "on as many ranks, but 3 in groups of 4 leave one of 3; take 4 "
            "microbatches, or a group of 3");
  EXPECT_EQ(errorOf("interleaved", {4, 8, false, 2, 2}),
            "schedule 'interleaved' needs groups of at least 4 microbatches on "
            "as many ranks, got 2; take a group of 4");
  EXPECT_EQ(errorOf("zb-v", {4, 6, false, 2}),
            "schedule 'zb-v' needs at least 7 microbatches on 4 ranks, got 6; "
            "take more, fewer ranks, or v-half");
  EXPECT_EQ(errorOf("zb-v", {4, 8, false, 3}),
            "schedule 'zb-v' needs 2 chunks per rank, got 3; set the number of "
            "chunks");
  EXPECT_EQ(errorOf("dualpipe", {3, 8}),
            "schedule 'dualpipe' needs an even number of ranks, got 3; use one "
            "rank more or fewer, or dualpipe-v");
  EXPECT_EQ(
      errorOf("dualpipe", {4, 9}),
      "schedule 'dualpipe' needs an even number of microbatches, at least "
      "8 on 4 ranks, got 9; take 10");
  EXPECT_EQ(errorOf("dualpipe-v", {4, 7, false, 2}),
            "schedule 'dualpipe-v' needs at least 8 microbatches on 4 ranks, "
            "got 7; take more, fewer ranks, or v-half");
  EXPECT_EQ(errorOf("chimera", {4, 7}),
            "schedule 'chimera' needs even numbers of ranks and microbatches, "
            "got 4 and 7; take one more");
  EXPECT_EQ(errorOf("forward-only", {4, 8}),
            "schedule 'forward-only' needs a program without a backward; take "
            "1f1b or another schedule to train");
  EXPECT_EQ(errorOf("gpipe", {0, 8}),
            "schedule 'gpipe' needs at least 1 rank, 1 microbatch and 1 chunk, "
            "got 0, 8 and 1");
  EXPECT_EQ(errorOf("eager-1f1b", {4, 8, false, 1, 0, -1}),
            "schedule 'eager-1f1b' needs a ratio of hop to forward that is "
            "finite and not negative, got -1.000000");
}

TEST(Generators, NoNumberIsTooLargeForAnError) {
  constexpr int64_t kMost = std::numeric_limits<int64_t>::max();
  for (const Generator &generator : allGenerators())
    for (int64_t ranks : {int64_t(2), kMost})
      for (int64_t chunks : {generator.leastChunks, kMost})
        EXPECT_FALSE(generator.generate({ranks, kMost - 1, false, chunks}))
            << generator.name;
}

// The limit of schedules from files, too.
TEST(Generators, AScheduleHasALimitOfForwards) {
  Result<Schedule> schedule = generateGPipe({8, kMostForwards / 8 + 1, false});
  ASSERT_FALSE(schedule);
  EXPECT_NE(schedule.error().message.find("at most 4194304 forwards in all"),
            std::string::npos)
      << schedule.error().message;
}

TEST(Generators, UnknownNameListsTheKnownOnes) {
  EXPECT_STREQ(findGenerator("1f1b")->symbol, "one_f_one_b");
  EXPECT_EQ(findGenerator("zigzag").error().message,
            "unknown schedule 'zigzag'; there are gpipe, 1f1b, eager-1f1b, "
            "early-backward, window, zb-h1, zb-h2, zb-h2-latency, interleaved, "
            "breadth-first, looped-bfs, interleaved-zb, looped-zb, "
            "looped-zb-wide, zb-v, v-half, v-min, dualpipe, dualpipe-v, "
            "chimera, forward-only");
}

TEST(Generators, DapplesPoliciesAreOrdersOfOtherNames) {
  EXPECT_STREQ(findGenerator("dapple-a")->name, "1f1b");
  EXPECT_STREQ(findGenerator("dapple-b")->name, "early-backward");
}
