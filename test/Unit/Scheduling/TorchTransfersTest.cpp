//===- TorchTransfersTest.cpp - sends, receives and waits -----------------===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ListText.h"
#include "stagewright/Scheduling/Generators.h"
#include <algorithm>
#include <fstream>
#include <gtest/gtest.h>

using namespace stagewright;
using stagewright::testing::toString;

/// The lists of `ranks`, entries separated by spaces. Entries may be missing.
static TorchLists fromText(int64_t stages, int64_t microbatches,
                           const std::vector<std::string> &ranks) {
  TorchLists lists{stages, microbatches, {}};
  for (std::string rank : ranks) {
    std::replace(rank.begin(), rank.end(), ' ', ',');
    // The reader requires actions of all stages; a second list has them.
    std::string text = rank + "\n";
    for (int64_t stage = 0; stage < stages; ++stage)
      for (int64_t m = 0; m < microbatches; ++m)
        text += std::to_string(stage) + "F" + std::to_string(m) + ",";
    Result<TorchCsv> csv = readTorchCsv(text);
    EXPECT_TRUE(csv) << csv.error().message;
    lists.ranks.push_back(csv->lists.ranks.front());
  }
  return lists;
}

static std::string errorOf(const TorchLists &lists) {
  Status status = verify(lists);
  return status ? "" : status.error().message;
}

/// The list of every rank, one per line.
static std::string textOf(const Result<TorchLists> &lists) {
  if (!lists)
    return lists.error().message;
  std::string text;
  for (const TorchOrder &list : lists->ranks)
    text += toString(list) + "\n";
  return text;
}

TEST(TorchTransfers, OneFOneB) {
  EXPECT_EQ(textOf(insertTransfers(*generateOneFOneB({2, 3}))),
            "0RECV_B0 0RECV_B1 0F0 0SEND_F0 0F1 0SEND_F1 0B0 0RECV_B2 "
            "0WAIT_SEND_F0 0F2 0SEND_F2 0B1 0B2 0WAIT_SEND_F1 0WAIT_SEND_F2\n"
            "1RECV_F0 1RECV_F1 1F0 1RECV_F2 1B0 1SEND_B0 1F1 1B1 1SEND_B1 1F2 "
            "1WAIT_SEND_B0 1B2 1SEND_B2 1WAIT_SEND_B1 1WAIT_SEND_B2\n");
}

// V placement: stages 1 and 2 are both on rank 1 and need no message.
TEST(TorchTransfers, StagesOfOneRankHandOverWithout) {
  Schedule schedule{
      "v",
      4,
      1,
      {parseOrder("0F0 3F0 3B0 0B0"), parseOrder("1F0 2F0 2B0 1B0")}};
  EXPECT_EQ(textOf(insertTransfers(schedule)),
            "3RECV_F0 0RECV_B0 0F0 0SEND_F0 3F0 3B0 3SEND_B0 0B0 0WAIT_SEND_F0 "
            "3WAIT_SEND_B0\n"
            "1RECV_F0 2RECV_B0 1F0 2F0 2SEND_F0 2B0 1B0 1SEND_B0 2WAIT_SEND_F0 "
            "1WAIT_SEND_B0\n");
}

TEST(TorchTransfers, LackingAndDoubleEntries) {
  EXPECT_EQ(
      errorOf(fromText(2, 1, {"0F0 0SEND_F0 0WAIT_SEND_F0", "1RECV_F0 1F0"})),
      "");
  EXPECT_EQ(errorOf(fromText(2, 1, {"0F0", "1RECV_F0 1F0"})),
            "rank 0 lacks 0SEND_F0 for 0F0 on rank 0 (step 0)");
  EXPECT_EQ(errorOf(fromText(2, 1, {"0F0 0SEND_F0 0WAIT_SEND_F0", "1F0"})),
            "rank 1 lacks 1RECV_F0 for 1F0 on rank 1 (step 0)");
  EXPECT_EQ(errorOf(fromText(2, 1, {"0F0 0SEND_F0", "1RECV_F0 1F0"})),
            "rank 0 lacks 0WAIT_SEND_F0 for 0SEND_F0 on rank 0 (step 1)");
  EXPECT_EQ(errorOf(fromText(
                2, 1, {"0F0 0SEND_F0 0WAIT_SEND_F0", "1RECV_F0 1RECV_F0 1F0"})),
            "the list has 1RECV_F0 on rank 1 (step 1) although it has 1RECV_F0 "
            "on rank 1 (step 0)");
  EXPECT_EQ(errorOf(fromText(2, 1, {"0F0 0SEND_F7", "1RECV_F0 1F0"})),
            "the list has 0SEND_F7 on rank 0 (step 1), but of the 2 stages and "
            "1 microbatches none has such a message");
  EXPECT_EQ(errorOf(fromText(2, 1, {"0F0 1F0 0SEND_F0"})),
            "the list has 0SEND_F0 on rank 0 (step 2), but both stages are on "
            "rank 0 for this microbatch; leave it out");
  EXPECT_EQ(
      errorOf(fromText(2, 1, {"0F0 1RECV_F0", "1F0"})),
      "the list has 1RECV_F0 on rank 0 (step 1), but its stage is on rank "
      "1 for this microbatch");
}

TEST(TorchTransfers, OrderOnOneRank) {
  EXPECT_EQ(
      errorOf(fromText(2, 1, {"0SEND_F0 0F0 0WAIT_SEND_F0", "1RECV_F0 1F0"})),
      "0SEND_F0 on rank 0 (step 0) comes before 0F0 on rank 0 (step 1), which "
      "makes what it sends");
  EXPECT_EQ(
      errorOf(fromText(2, 1, {"0F0 0SEND_F0 0WAIT_SEND_F0", "1F0 1RECV_F0"})),
      "1F0 on rank 1 (step 0) comes before 1RECV_F0 on rank 1 (step 1), which "
      "it waits for");
  EXPECT_EQ(
      errorOf(fromText(2, 1, {"0F0 0WAIT_SEND_F0 0SEND_F0", "1RECV_F0 1F0"})),
      "0WAIT_SEND_F0 on rank 0 (step 1) comes before 0SEND_F0 on rank 0 (step "
      "2), which it waits for");
}

TEST(TorchTransfers, ChannelHasOneOrder) {
  TorchLists schedule =
      fromText(2, 2,
               {"0F0 0SEND_F0 0F1 0SEND_F1 0WAIT_SEND_F0 0WAIT_SEND_F1",
                "1RECV_F1 1RECV_F0 1F0 1F1"});
  Status status = verify(schedule);
  ASSERT_FALSE(status);
  EXPECT_EQ(
      status.error().message,
      "the channel from rank 0 to rank 1 has two orders: 0SEND_F0 on rank "
      "0 (step 1) would meet 1RECV_F1 on rank 1 (step 0)");
  EXPECT_EQ(status.error().notes.front(),
            "the steps in brackets:\nrank 0, step 1: 0F0 [0SEND_F0] 0F1 "
            "0SEND_F1 0WAIT_SEND_F0 "
            "0WAIT_SEND_F1\n"
            "rank 1, step 0:     [1RECV_F1] 1RECV_F0 1F0 1F1");
}

// Each rank waits for its send to complete before it posts its receive.
TEST(TorchTransfers, RendezvousDeadlock) {
  std::vector<std::string> ranks = {"0F0 0SEND_F0 0WAIT_SEND_F0 1RECV_F1 1F1",
                                    "0F1 0SEND_F1 0WAIT_SEND_F1 1RECV_F0 1F0"};
  EXPECT_EQ(errorOf(fromText(2, 2, ranks)),
            "communication deadlocks: 0WAIT_SEND_F0 on rank 0 (step 2) waits "
            "for 1RECV_F0 on rank 1 (step 3), 0WAIT_SEND_F1 on rank 1 (step 2) "
            "waits for 1RECV_F1 on rank 0 (step 3)");
  ranks[1] = "0F1 0SEND_F1 1RECV_F0 0WAIT_SEND_F1 1F0";
  EXPECT_EQ(errorOf(fromText(2, 2, ranks)), "");
}

TEST(TorchTransfers, PairIsNotInterrupted) {
  TorchLists schedule = fromText(1, 2, {"0F0 (0F1;0B0)OVERLAP_F_B 0B1"});
  EXPECT_EQ(errorOf(schedule), "");
  TorchLists two =
      fromText(2, 2,
               {"0F0 0SEND_F0 0F1 0SEND_F1 0RECV_B0 0B0 0RECV_B1 0B1 "
                "0WAIT_SEND_F0 0WAIT_SEND_F1",
                "1RECV_F0 1RECV_F1 1F0 1F1 1B0 1SEND_B0 1B1 1SEND_B1 "
                "1WAIT_SEND_B0 1WAIT_SEND_B1"});
  EXPECT_EQ(errorOf(two), "");
  two.ranks[1][4].action.paired = true; // 1F1 with 1B0.
  EXPECT_EQ(errorOf(two), "");
  std::swap(two.ranks[1][1], two.ranks[1][3]); // 1F1 before its receive.
  EXPECT_NE(errorOf(two), "");
}

/// The messages inserted into the orders of every generator verify.
TEST(TorchTransfers, EveryGenerator) {
  for (const Generator &generator : allGenerators())
    for (int64_t ranks : {2, 4})
      for (bool forwardOnly : {false, true}) {
        ScheduleShape shape{ranks, 2 * ranks, forwardOnly};
        shape.chunks = std::max<int64_t>(generator.leastChunks, 1);
        Result<Schedule> schedule = generator.generate(shape);
        if (!schedule)
          continue;
        Result<TorchLists> lists = insertTransfers(*schedule);
        ASSERT_TRUE(lists) << generator.name << lists.error().message;
        EXPECT_EQ(errorOf(*lists), "") << generator.name;
        for (size_t rank = 0; rank < lists->ranks.size(); ++rank) {
          Order computed;
          for (const TorchEntry &entry : lists->ranks[rank])
            if (entry.op == TorchOp::Compute)
              computed.push_back(entry.action);
          EXPECT_EQ(computed, schedule->ranks[rank]) << generator.name;
        }
      }
}

// Verifies the messages that PyTorch 2.15 inserts. PyTorch's own simulator
// rejects these files (TorchFixturesTest.cpp).
TEST(TorchTransfers, TorchsOwnListsAreProved) {
  for (const char *name : {"DualPipeV-p2-m5-v2", "Interleaved1F1B-p4-m8-v2",
                           "InterleavedZeroBubble-p2-m4-v2",
                           "LoopedBFS-p2-m4-v2", "ZBVZeroBubble-p3-m6-v2"}) {
    std::ifstream file(std::string(TORCH_FIXTURES) + "/" + name + "-comms.csv");
    std::string text{std::istreambuf_iterator<char>(file), {}};
    Result<TorchCsv> csv = readTorchCsv(text);
    ASSERT_TRUE(csv) << name << csv.error().message;
    const TorchLists &lists = csv->lists;
    ASSERT_GE(lists.ranks.size(), 2u) << name;
    EXPECT_EQ(errorOf(lists), "") << name;
    // Without any single entry of rank 0 it is rejected.
    for (size_t at = 0; at < lists.ranks[0].size(); ++at) {
      TorchLists less = lists;
      less.ranks[0].erase(less.ranks[0].begin() + int64_t(at));
      EXPECT_NE(errorOf(less), "")
          << name << " without " << toString(lists.ranks[0][at]);
    }
  }
}

// A large step is verified in less than a second.
TEST(TorchTransfers, LargeStepIsProvedQuickly) {
  ScheduleShape shape{64, 512, false};
  shape.chunks = 2;
  Schedule schedule = *findGenerator("breadth-first")->generate(shape);
  Result<TorchLists> lists = insertTransfers(schedule);
  ASSERT_TRUE(lists);
  EXPECT_EQ(errorOf(*lists), "");
}
