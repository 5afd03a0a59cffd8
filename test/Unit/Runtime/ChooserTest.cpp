//===- ChooserTest.cpp - which row a rank runs next -----------------------===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Chooser.h"
#include "SilentTransport.h"
#include "stagewright/Runtime/Error.h"

#include <gtest/gtest.h>
#include <set>

namespace stagewright::runtime {
namespace {

/// Knows which messages and slots are available, by channel and number.
class Board : public SilentTransport {
public:
  bool isReady(int64_t, const Need &need) override {
    return ready.contains({need.channel, need.m});
  }
  /// Makes the last of `needs` available.
  void waitForAny(int64_t, std::span<const Need> needs) override {
    ++waits;
    ready.insert({needs.back().channel, needs.back().m});
  }

  std::set<std::pair<int64_t, int64_t>> ready;
  int waits = 0;
};

/// Two backwards, which receive from channel 1 and follow their forwards, and
/// two forwards, which claim channel 0.
RankManifest fourRows() {
  RankManifest rank;
  rank.rows = {{"0B0", 0, 0, {{1, 0, false}}, {2}},
               {"0B1", 0, 1, {{1, 1, false}}, {3}},
               {"0F0", 1, 2, {{0, 0, true}}, {}},
               {"0F1", 1, 3, {{0, 1, true}}, {}}};
  return rank;
}

TEST(Chooser, BackwardsGoFirstOnceTheyCan) {
  RankManifest rank = fourRows();
  Chooser chooser(rank, 0);
  Board board;
  board.ready = {{0, 0}, {0, 1}, {1, 0}, {1, 1}};
  for (int step = 0; step < 2; ++step) {
    chooser.begin();
    // The backward runs after its forward, although its message is available.
    EXPECT_EQ(chooser.choose(board), 2);
    EXPECT_EQ(chooser.last().lanes, 2u);
    EXPECT_EQ(chooser.choose(board), 0);
    EXPECT_EQ(chooser.last().lanes, 3u);
    EXPECT_EQ(chooser.choose(board), 3);
    EXPECT_EQ(chooser.choose(board), 1);
    EXPECT_EQ(board.waits, 0);
  }
}

TEST(Chooser, WaitsForWhatAnyLaneLacks) {
  RankManifest rank = fourRows();
  Chooser chooser(rank, 0);
  Board board;
  board.ready = {{0, 0}};
  EXPECT_EQ(chooser.choose(board), 2);
  EXPECT_FALSE(chooser.last().waited);
  EXPECT_EQ(chooser.choose(board), 3); // Its slot comes before the gradient.
  EXPECT_TRUE(chooser.last().waited);
  EXPECT_EQ(chooser.last().awaited.channel, 1);
  EXPECT_EQ(board.waits, 1);
  EXPECT_EQ(chooser.choose(board), 0);
  EXPECT_EQ(chooser.choose(board), 1);
  EXPECT_EQ(board.waits, 3);
  EXPECT_THROW(chooser.choose(board), Error); // No row is left.
}

} // namespace
} // namespace stagewright::runtime
