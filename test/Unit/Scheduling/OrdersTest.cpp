//===- OrdersTest.cpp - published orders, action by action ----------------===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Orders of PyTorch and of the zero-bubble authors' program.
// `a` and `b` are the first and the second chunk of a rank.
//
//===----------------------------------------------------------------------===//

#include "stagewright/Scheduling/Generators.h"
#include "stagewright/Scheduling/TorchCsv.h"
#include "stagewright/Support/Files.h"
#include "gtest/gtest.h"
#include <algorithm>

using namespace stagewright;

/// The orders as text, one line per rank.
static std::string ordersOf(const char *name, const ScheduleShape &shape) {
  Result<Schedule> schedule = findGenerator(name)->generate(shape);
  EXPECT_TRUE(schedule) << schedule.error().message;
  std::string text;
  for (const Order &order : schedule->ranks) {
    int64_t first = order.front().stage;
    for (const Action &action : order) {
      text += letter(action.kind);
      if (shape.chunks > 1)
        text += action.stage == first ? 'a' : 'b';
      text += std::to_string(action.microbatch);
      text += &action == &order.back() ? '\n' : ' ';
    }
  }
  return text;
}

TEST(Orders, OneFOneB) {
  EXPECT_EQ(ordersOf("1f1b", {4, 6}), "F0 F1 F2 F3 B0 F4 B1 F5 B2 B3 B4 B5\n"
                                      "F0 F1 F2 B0 F3 B1 F4 B2 F5 B3 B4 B5\n"
                                      "F0 F1 B0 F2 B1 F3 B2 F4 B3 F5 B4 B5\n"
                                      "F0 B0 F1 B1 F2 B2 F3 B3 F4 B4 F5 B5\n");
}

// Equals JaxPP's Eager1F1B and DAPPLE's P_B.
TEST(Orders, EarlyBackward) {
  EXPECT_EQ(ordersOf("early-backward", {4, 6}),
            "F0 F1 F2 F3 F4 F5 B0 B1 B2 B3 B4 B5\n"
            "F0 F1 F2 F3 F4 B0 F5 B1 B2 B3 B4 B5\n"
            "F0 F1 F2 B0 F3 B1 F4 B2 F5 B3 B4 B5\n"
            "F0 B0 F1 B1 F2 B2 F3 B3 F4 B4 F5 B5\n");
}

TEST(Orders, ZbH1) {
  EXPECT_EQ(ordersOf("zb-h1", {4, 6}),
            "F0 F1 F2 F3 I0 W0 F4 I1 W1 F5 I2 W2 I3 W3 I4 W4 I5 W5\n"
            "F0 F1 F2 I0 F3 I1 W0 F4 I2 W1 F5 I3 W2 I4 W3 I5 W4 W5\n"
            "F0 F1 I0 F2 I1 F3 I2 W0 F4 I3 W1 F5 I4 W2 I5 W3 W4 W5\n"
            "F0 I0 F1 I1 F2 I2 F3 I3 W0 F4 I4 W1 F5 I5 W2 W3 W4 W5\n");
}

TEST(Orders, ZbH2) {
  EXPECT_EQ(ordersOf("zb-h2", {3, 6}),
            "F0 F1 F2 F3 F4 I0 W0 F5 I1 W1 I2 W2 I3 W3 I4 W4 I5 W5\n"
            "F0 F1 F2 I0 F3 I1 F4 I2 W0 F5 I3 W1 I4 W2 I5 W3 W4 W5\n"
            "F0 I0 F1 I1 F2 I2 F3 I3 F4 I4 W0 F5 I5 W1 W2 W3 W4 W5\n");
}

// The order keeps the dependencies of Shardy's ZeroBubbleH2, for latencies of
// 0, 0.5 and 1 stage times.
TEST(Orders, ZbH2LatencyKeepsShardysClauses) {
  for (double latency : {0., 0.5, 1.})
    for (int64_t p = 1; p <= 6; ++p) {
      constexpr int64_t m = 30;
      Schedule schedule = *generateZbH2Latency({p, m, false, 1, 0, latency});
      auto warmUp = [&](int64_t rank) {
        return int64_t(2. * double(p - rank) - 1 +
                       2. * double(p - rank - 1) * latency);
      };
      for (int64_t r = 0; r < p; ++r) {
        auto at = [&](ActionKind kind, int64_t microbatch) {
          const Order &order = schedule.ranks[r];
          return std::find(order.begin(), order.end(),
                           Action{kind, r, microbatch}) -
                 order.begin();
        };
        using enum ActionKind;
        int64_t e = warmUp(r), other = warmUp(p - 1 - r);
        EXPECT_LT(at(Forward, e - 1), at(InputGradient, 0));
        for (int64_t i = 0; i + e < m; ++i) {
          EXPECT_LT(at(InputGradient, i), at(Forward, i + e));
          EXPECT_LT(at(Forward, i + e - 1), at(InputGradient, i));
        }
        for (int64_t i = 0; i + other < m; ++i) {
          EXPECT_LT(at(InputGradient, i + other - 1), at(WeightGradient, i));
          EXPECT_LT(at(WeightGradient, i), at(InputGradient, i + other));
        }
      }
    }
}

TEST(Orders, Interleaved) {
  EXPECT_EQ(ordersOf("interleaved", {2, 4, false, 2}),
            "Fa0 Fa1 Fb0 Fb1 Fa2 Bb0 Fa3 Bb1 Fb2 Ba0 Fb3 Ba1 Bb2 Bb3 Ba2 Ba3\n"
            "Fa0 Fa1 Fb0 Bb0 Fb1 Bb1 Fa2 Ba0 Fa3 Ba1 Fb2 Bb2 Fb3 Bb3 Ba2 "
            "Ba3\n");
}

TEST(Orders, LoopedBreadthFirst) {
  std::string rank = "Fa0 Fa1 Fa2 Fa3 Fb0 Fb1 Fb2 Fb3 Bb3 Bb2 Bb1 Bb0 Ba3 Ba2 "
                     "Ba1 Ba0\n";
  EXPECT_EQ(ordersOf("looped-bfs", {2, 4, false, 2}), rank + rank);
}

TEST(Orders, BreadthFirstGoesBackInIncreasingOrder) {
  std::string rank = "Fa0 Fa1 Fa2 Fb0 Fb1 Fb2 Bb0 Bb1 Bb2 Ba0 Ba1 Ba2\n";
  EXPECT_EQ(ordersOf("breadth-first", {2, 3, false, 2}), rank + rank);
}

TEST(Orders, LevelsByPairsOfMicrobatches) {
  std::string rank = "Fa0 Fa1 Fb0 Fb1 Bb0 Bb1 Ba0 Ba1 Fa2 Fb2 Bb2 Ba2\n";
  EXPECT_EQ(ordersOf("levels", {2, 3, false, 2}), rank + rank);
  EXPECT_EQ(ordersOf("levels", {1, 2, false, 2, 1}),
            "Fa0 Fb0 Bb0 Ba0 Fa1 Fb1 Bb1 Ba1\n");
  EXPECT_EQ(ordersOf("levels", {1, 3, true, 2}), "Fa0 Fa1 Fb0 Fb1 Fa2 Fb2\n");
}

TEST(Orders, InterleavedZb) {
  EXPECT_EQ(ordersOf("interleaved-zb", {2, 4, false, 2}),
            "Fa0 Fa1 Fb0 Fb1 Ib0 Wb0 Fa2 Ib1 Wb1 Fa3 Ia0 Wa0 Fb2 Ia1 Wa1 Fb3 "
            "Ib2 Wb2 Ib3 Wb3 Ia2 Wa2 Ia3 Wa3\n"
            "Fa0 Fa1 Fb0 Ib0 Fb1 Ib1 Wb0 Fa2 Ia0 Wb1 Fa3 Ia1 Wa0 Fb2 Ib2 Wa1 "
            "Fb3 Ib3 Wb2 Ia2 Wb3 Ia3 Wa2 Wa3\n");
}

TEST(Orders, ZbV) {
  EXPECT_EQ(
      ordersOf("zb-v", {3, 6, false, 2}),
      "Fa0 Fa1 Fa2 Fa3 Fa4 Fb0 Ib0 Wb0 Fb1 Ib1 Wb1 Fb2 Ib2 Wb2 Fa5 Ia0 Wa0 Fb3 "
      "Ib3 Wb3 Ia1 Wa1 Fb4 Ib4 Wb4 Ia2 Wa2 Fb5 Ib5 Wb5 Ia3 Wa3 Ia4 Wa4 Ia5 "
      "Wa5\n"
      "Fa0 Fa1 Fa2 Fb0 Fa3 Fb1 Ib0 Wb0 Fb2 Ib1 Wb1 Fa4 Ia0 Wa0 Fb3 Ib2 Wb2 Fa5 "
      "Ia1 Wa1 Fb4 Ib3 Wb3 Ia2 Wa2 Fb5 Ib4 Wb4 Ia3 Ib5 Ia4 Wa3 Ia5 Wa4 Wb5 "
      "Wa5\n"
      "Fa0 Fb0 Fa1 Fb1 Fa2 Fb2 Ib0 Wb0 Fa3 Ia0 Wa0 Fb3 Ib1 Wb1 Fa4 Ia1 Wa1 Fb4 "
      "Ib2 Wb2 Fa5 Ia2 Wa2 Fb5 Ib3 Wb3 Ia3 Ib4 Ia4 Ib5 Ia5 Wa3 Wb4 Wb5 Wa4 "
      "Wa5\n");
}

TEST(Orders, DualPipeV) {
  EXPECT_EQ(ordersOf("dualpipe-v", {2, 5, false, 2}),
            "Fa0 Fa1 Fa2 Fb0 Ib0 Wb0 Fb1 Fa3 Bb1 Fb2 Ba0 Fa4 Bb2 Fb3 Ba1 Bb3 "
            "Fb4 Ba2 Bb4 Ia3 Wa3 Ia4 Wa4\n"
            "Fa0 Fb0 Fa1 Fb1 Fa2 Bb0 Fb2 Ba0 Fa3 Bb1 Fb3 Ba1 Fa4 Bb2 Fb4 Ba2 "
            "Bb3 Ba3 Ib4 Ia4 Wb4 Wa4\n");
}

// Rank r of DualPipe runs for its two stages what a rank of DualPipeV with half
// the ranks runs for its two chunks.
TEST(Orders, DualPipeIsDualPipeVTwice) {
  for (int64_t p : {2, 4, 6, 8})
    for (int64_t m : {2 * p, 2 * p + 2, 3 * p}) {
      Schedule twin = *generateDualPipe({p, m});
      Schedule half = *generateDualPipeV({p / 2, m / 2, false, 2});
      for (int64_t rank = 0; rank < p; ++rank) {
        Order order = half.ranks[std::min(rank, p - 1 - rank)];
        bool mirrored = rank >= p / 2;
        for (Action &action : order) {
          // Stage s of the V is stage s of one direction on the first half of
          // the ranks, and of the other direction on the second half.
          bool far = action.stage >= p / 2;
          if (far != mirrored)
            action.microbatch += m / 2;
        }
        EXPECT_EQ(twin.ranks[rank], order);
      }
    }
}

// The picture above nnScaler's sched_chimera_direct. It draws backwards with
// two slots, but the order is the one for equal times.
TEST(Orders, Chimera) {
  EXPECT_EQ(ordersOf("chimera", {4, 4}), "F0 F1 F2 B2 F3 B3 B0 B1\n"
                                         "F0 F2 F1 F3 B2 B0 B3 B1\n"
                                         "F2 F0 F3 F1 B0 B2 B1 B3\n"
                                         "F2 F3 F0 B0 F1 B1 B2 B3\n");
}

TEST(Orders, ForwardOnlyGoesByGroups) {
  std::string rank = "Fa0 Fa1 Fb0 Fb1 Fa2 Fa3 Fb2 Fb3 Fa4 Fb4\n";
  EXPECT_EQ(ordersOf("forward-only", {2, 5, true, 2}), rank + rank);
}

// Compares with files written by torch's own schedule classes.
TEST(Orders, AreThoseOfTorch) {
  struct {
    const char *name, *file;
    ScheduleShape shape;
  } const cases[] = {
      {"gpipe", "GPipe-p2-m4", {2, 4}},
      {"gpipe", "GPipe-p4-m8", {4, 8}},
      {"looped-bfs", "LoopedBFS-p2-m4-v2", {2, 4, false, 2}},
      {"looped-bfs", "LoopedBFS-p4-m8-v2", {4, 8, false, 2}},
      {"interleaved", "Interleaved1F1B-p2-m4-v2", {2, 4, false, 2}},
      {"interleaved", "Interleaved1F1B-p4-m6-v2", {4, 6, false, 2, 6}},
      {"interleaved", "Interleaved1F1B-p4-m8-v2", {4, 8, false, 2}},
      {"interleaved", "Interleaved1F1B-p4-m8-v4", {4, 8, false, 4}},
      {"interleaved-zb", "InterleavedZeroBubble-p2-m4-v2", {2, 4, false, 2}},
      {"interleaved-zb", "InterleavedZeroBubble-p4-m8-v2", {4, 8, false, 2}},
      {"interleaved-zb", "InterleavedZeroBubble-p4-m8-v4", {4, 8, false, 4}},
      {"zb-v", "ZBVZeroBubble-p3-m6-v2", {3, 6, false, 2}},
      {"zb-v", "ZBVZeroBubble-p4-m8-v2", {4, 8, false, 2}},
      {"dualpipe-v", "DualPipeV-p2-m5-v2", {2, 5, false, 2}},
      {"dualpipe-v", "DualPipeV-p4-m8-v2", {4, 8, false, 2}},
      {"dualpipe-v", "DualPipeV-p4-m10-v2", {4, 10, false, 2}}};
  for (const auto &[name, file, shape] : cases) {
    Result<std::string> text =
        readTextFile(std::string(TORCH_FIXTURES) + "/" + file + ".csv");
    ASSERT_TRUE(text) << file;
    EXPECT_EQ(findGenerator(name)->generate(shape)->ranks,
              readTorchCsv(*text)->schedule.ranks)
        << file;
  }
}
