//===- CommunicationTest.cpp - sends, receives and waits ------------------===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "stagewright/Scheduling/Communication.h"
#include "stagewright/Scheduling/Generators.h"
#include <fstream>
#include <gtest/gtest.h>
#include <sstream>

using namespace stagewright;

static CommSchedule fromText(int64_t stages, int64_t microbatches,
                             const std::vector<std::string> &ranks) {
  CommSchedule schedule{stages, microbatches, {}};
  for (const std::string &rank : ranks)
    schedule.ranks.push_back(*parseCommOrder(rank));
  return schedule;
}

static std::string errorOf(const CommSchedule &schedule,
                           const StageGraph &graph) {
  Status status = verify(schedule, graph);
  return status ? "" : status.error().message;
}

/// The list of every rank, one per line.
static std::string textOf(const Result<CommPlan> &plan) {
  if (!plan)
    return plan.error().message;
  std::string text;
  for (const CommOrder &order : plan->schedule.ranks)
    text += toString(order) + "\n";
  return text;
}

TEST(Communication, TextRoundTrips) {
  const char *text =
      "0F0 0SEND_F0 1RECV_F0 0WAIT_SEND_F0 3SEND_B12 2RECV_B12 3WAIT_SEND_B12 "
      "0SEND_F0>2 2RECV_F0<0 0WAIT_SEND_F0>2 2SEND_B1>0 3SEND_W1>2 2RECV_W1<3 "
      "(3F1;4B0)OVERLAP_F_B 1U";
  Result<CommOrder> order = parseCommOrder(text);
  ASSERT_TRUE(order) << order.error().message;
  EXPECT_EQ(toString(*order), text);
  EXPECT_EQ((*order)[1],
            (CommAction{CommKind::Send, {ActionKind::Forward}, 1}));
  EXPECT_EQ(
      (*order)[5],
      (CommAction{CommKind::Receive, {ActionKind::InputGradient, 2, 12}, 3}));
  // The default peer may also be written.
  EXPECT_EQ(toString(*parseCommOrder("0SEND_F0>1 1RECV_F0<0")),
            "0SEND_F0 1RECV_F0");
}

TEST(Communication, ErrorsShowTheEntry) {
  for (const char *wrong :
       {"0SEND_F", "0SEND_", "SEND_F0", "0SEND_X0", "0SEND_F0<1", "1RECV_F0>0",
        "0SEND_B0", "0RECV_F0", "0SEND_W0", "0SEND_F0>", "0SEND_F0>1x",
        "0WAIT_RECV_F0", "9223372036854775807SEND_F0",
        "99999999999999999999SEND_F0", "0SEND_F99999999999999999999", "0_F0"}) {
    Result<CommOrder> order = parseCommOrder("0F0 " + std::string(wrong));
    ASSERT_FALSE(order) << wrong;
    EXPECT_EQ(order.error().message.find("entry 1: '" + std::string(wrong) +
                                         "' is not a communication"),
              0u)
        << order.error().message;
  }
  EXPECT_FALSE(parseCommOrder("0X0"));
  EXPECT_FALSE(parseCommOrder("(0F0;0B0)OVERLAP_F_B"));
}

TEST(Communication, OneFOneB) {
  EXPECT_EQ(textOf(insertCommunication(*generateOneFOneB({2, 3}),
                                       chainGraph(2, false), {1, 1})),
            "0RECV_B0 0F0 0SEND_F0 0WAIT_SEND_F0 0F1 0SEND_F1 0B0 0RECV_B1 "
            "0WAIT_SEND_F1 0F2 0SEND_F2 0B1 0RECV_B2 0B2 0WAIT_SEND_F2\n"
            "1RECV_F0 1F0 1RECV_F1 1B0 1SEND_B0 1F1 1RECV_F2 1WAIT_SEND_B0 1B1 "
            "1SEND_B1 1F2 1WAIT_SEND_B1 1B2 1SEND_B2 1WAIT_SEND_B2\n");
}

// V placement: stages 1 and 2 are both on rank 1 and need no message.
TEST(Communication, StagesOfOneRankHandOverWithout) {
  Schedule schedule{
      "v",
      4,
      1,
      {*parseOrder("0F0 3F0 3B0 0B0"), *parseOrder("1F0 2F0 2B0 1B0")}};
  EXPECT_EQ(textOf(insertCommunication(schedule, chainGraph(4, false))),
            "3RECV_F0 0RECV_B0 0F0 0SEND_F0 3F0 3B0 3SEND_B0 0B0 0WAIT_SEND_F0 "
            "3WAIT_SEND_B0\n"
            "1RECV_F0 2RECV_B0 1F0 2F0 2SEND_F0 2B0 1B0 1SEND_B0 2WAIT_SEND_F0 "
            "1WAIT_SEND_B0\n");
}

// All values of a phase from one stage to another are one message; a later
// stage gets a separate message.
TEST(Communication, SkipConnection) {
  StageGraph graph = chainGraph(3, true);
  graph.edges.push_back(graph.edges.front());
  graph.edges.push_back({{ActionKind::Forward, 0},
                         {ActionKind::Forward, 2},
                         {ActionKind::Forward, 2}});
  EXPECT_EQ(textOf(insertCommunication(*generateGPipe({3, 1, true}), graph)),
            "0F0 0SEND_F0 0SEND_F0>2 0WAIT_SEND_F0 0WAIT_SEND_F0>2\n"
            "1RECV_F0 1F0 1SEND_F0 1WAIT_SEND_F0\n"
            "2RECV_F0<0 2RECV_F0 2F0\n");
}

// If ring slots are held until the backward, GPipe needs one per microbatch.
TEST(Communication, StatedDepthMayBeTooSmall) {
  StageGraph graph = chainGraph(2, false);
  graph.edges[0].depth = 1;
  graph.edges[0].lastUse.phase = ActionKind::InputGradient;
  Schedule schedule = *generateGPipe({2, 4});
  Result<CommPlan> plan = insertCommunication(schedule, graph);
  ASSERT_FALSE(plan);
  EXPECT_EQ(
      plan.error().message,
      "rank 1 has room for 1 microbatches of what phase F of stage 0 on "
      "rank 0 sends to stage 1, too few to receive each before its use in "
      "the order of the sends; a depth of 4 would do");
  graph.edges[0].depth = 3;
  EXPECT_FALSE(insertCommunication(schedule, graph));
  graph.edges[0].depth = 4;
  EXPECT_TRUE(insertCommunication(schedule, graph));
  // A depth that is not stated is increased as needed.
  graph.edges[0].depth = 0;
  plan = insertCommunication(schedule, graph);
  ASSERT_TRUE(plan);
  EXPECT_EQ(plan->routes.front(),
            (CommRoute{ActionKind::Forward, 0, 1, 0, 1, 4}));
}

TEST(Communication, LackingAndDoubleEntries) {
  StageGraph graph = chainGraph(2, true);
  EXPECT_EQ(
      errorOf(fromText(2, 1, {"0F0 0SEND_F0 0WAIT_SEND_F0", "1RECV_F0 1F0"}),
              graph),
      "");
  EXPECT_EQ(errorOf(fromText(2, 1, {"0F0", "1RECV_F0 1F0"}), graph),
            "rank 0 lacks 0SEND_F0 for 0F0 on rank 0 (step 0)");
  EXPECT_EQ(
      errorOf(fromText(2, 1, {"0F0 0SEND_F0 0WAIT_SEND_F0", "1F0"}), graph),
      "rank 1 lacks 1RECV_F0 for 1F0 on rank 1 (step 0)");
  EXPECT_EQ(errorOf(fromText(2, 1, {"0F0 0SEND_F0", "1RECV_F0 1F0"}), graph),
            "rank 0 lacks 0WAIT_SEND_F0 for 0SEND_F0 on rank 0 (step 1)");
  EXPECT_EQ(
      errorOf(fromText(2, 1,
                       {"0F0 0SEND_F0 0WAIT_SEND_F0", "1RECV_F0 1RECV_F0 1F0"}),
              graph),
      "the list has 1RECV_F0 on rank 1 (step 1) although it has 1RECV_F0 "
      "on rank 1 (step 0)");
  EXPECT_EQ(errorOf(fromText(2, 1, {"0F0 0SEND_F7", "1RECV_F0 1F0"}), graph),
            "the list has 0SEND_F7 on rank 0 (step 1), but of the 2 stages and "
            "1 microbatches stage 0 sends nothing such to stage 1");
  EXPECT_EQ(errorOf(fromText(2, 1, {"0F0 1F0 0SEND_F0", ""}), graph),
            "the list has 0SEND_F0 on rank 0 (step 2), but both stages are on "
            "rank 0 for this microbatch; leave it out");
  EXPECT_EQ(
      errorOf(fromText(2, 1, {"0F0 1RECV_F0", "1F0"}), graph),
      "the list has 1RECV_F0 on rank 0 (step 1), but its stage is on rank "
      "1 for this microbatch");
}

TEST(Communication, OrderOnOneRank) {
  StageGraph graph = chainGraph(2, true);
  EXPECT_EQ(
      errorOf(fromText(2, 1, {"0SEND_F0 0F0 0WAIT_SEND_F0", "1RECV_F0 1F0"}),
              graph),
      "0SEND_F0 on rank 0 (step 0) comes before 0F0 on rank 0 (step 1), which "
      "makes what it sends");
  EXPECT_EQ(
      errorOf(fromText(2, 1, {"0F0 0SEND_F0 0WAIT_SEND_F0", "1F0 1RECV_F0"}),
              graph),
      "1F0 on rank 1 (step 0) comes before 1RECV_F0 on rank 1 (step 1), which "
      "it waits for");
  EXPECT_EQ(
      errorOf(fromText(2, 1, {"0F0 0WAIT_SEND_F0 0SEND_F0", "1RECV_F0 1F0"}),
              graph),
      "0WAIT_SEND_F0 on rank 0 (step 1) comes before 0SEND_F0 on rank 0 (step "
      "2), which it waits for");
}

TEST(Communication, ChannelHasOneOrder) {
  CommSchedule schedule =
      fromText(2, 2,
               {"0F0 0SEND_F0 0F1 0SEND_F1 0WAIT_SEND_F0 0WAIT_SEND_F1",
                "1RECV_F1 1RECV_F0 1F0 1F1"});
  Status status = verify(schedule, chainGraph(2, true));
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
TEST(Communication, RendezvousDeadlock) {
  std::vector<std::string> ranks = {"0F0 0SEND_F0 0WAIT_SEND_F0 1RECV_F1 1F1",
                                    "0F1 0SEND_F1 0WAIT_SEND_F1 1RECV_F0 1F0"};
  StageGraph graph = chainGraph(2, true);
  EXPECT_EQ(errorOf(fromText(2, 2, ranks), graph),
            "communication deadlocks: 0WAIT_SEND_F0 on rank 0 (step 2) waits "
            "for 1RECV_F0 on rank 1 (step 3), 0WAIT_SEND_F1 on rank 1 (step 2) "
            "waits for 1RECV_F1 on rank 0 (step 3)");
  ranks[1] = "0F1 0SEND_F1 1RECV_F0 0WAIT_SEND_F1 1F0";
  EXPECT_EQ(errorOf(fromText(2, 2, ranks), graph), "");
}

TEST(Communication, NoMoreIsReceivedThanThereIsRoomFor) {
  StageGraph graph = chainGraph(2, true);
  graph.edges[0].depth = 1;
  const char *sender = "0F0 0SEND_F0 0F1 0SEND_F1 0WAIT_SEND_F0 0WAIT_SEND_F1";
  EXPECT_EQ(
      errorOf(fromText(2, 2, {sender, "1RECV_F0 1RECV_F1 1F0 1F1"}), graph),
      "1RECV_F1 on rank 1 (step 1) would be number 2 of 1 that there is "
      "room for; post it behind the last use of an earlier one");
  EXPECT_EQ(
      errorOf(fromText(2, 2, {sender, "1RECV_F0 1F0 1RECV_F1 1F1"}), graph),
      "");
}

TEST(Communication, PairIsNotInterrupted) {
  CommSchedule schedule = fromText(1, 2, {"0F0 (0F1;0B0)OVERLAP_F_B 0B1"});
  StageGraph graph = chainGraph(1, false);
  EXPECT_EQ(errorOf(schedule, graph), "");
  CommSchedule two =
      fromText(2, 2,
               {"0F0 0SEND_F0 0F1 0SEND_F1 0RECV_B0 0B0 0RECV_B1 0B1 "
                "0WAIT_SEND_F0 0WAIT_SEND_F1",
                "1RECV_F0 1RECV_F1 1F0 1F1 1B0 1SEND_B0 1B1 1SEND_B1 "
                "1WAIT_SEND_B0 1WAIT_SEND_B1"});
  EXPECT_EQ(errorOf(two, chainGraph(2, false)), "");
  two.ranks[1][4].action.paired = true; // 1F1 with 1B0.
  EXPECT_EQ(errorOf(two, chainGraph(2, false)), "");
  std::swap(two.ranks[1][1], two.ranks[1][3]); // 1F1 before its receive.
  EXPECT_NE(errorOf(two, chainGraph(2, false)), "");
}

/// Communication inserted into the orders of every generator verifies for any
/// number of slots (`room`).
TEST(Communication, EveryGeneratorWithAnyRoom) {
  for (const Generator &generator : allGenerators())
    for (int64_t ranks : {2, 4})
      for (bool forwardOnly : {false, true})
        for (int64_t room : {1, 2, 5}) {
          ScheduleShape shape{ranks, 2 * ranks, forwardOnly};
          shape.chunks = std::max<int64_t>(generator.leastChunks, 1);
          Result<Schedule> schedule = generator.generate(shape);
          if (!schedule)
            continue;
          StageGraph graph = chainGraph(schedule->stages, forwardOnly);
          Result<CommPlan> plan =
              insertCommunication(*schedule, graph, {room, room});
          ASSERT_TRUE(plan)
              << generator.name << " " << ranks << ": " << plan.error().message;
          EXPECT_EQ(errorOf(plan->schedule, graph), "") << generator.name;
          EXPECT_EQ(withoutCommunication(plan->schedule).ranks,
                    schedule->ranks);
          for (const CommOrder &order : plan->schedule.ranks)
            EXPECT_EQ(*parseCommOrder(toString(order)), order);
        }
}

/// The lists of a compute_comms file of PyTorch without FSDP actions.
static std::vector<std::string> torchLists(const std::string &name) {
  std::ifstream file(std::string(TORCH_FIXTURES) + "/" + name);
  std::vector<std::string> ranks;
  for (std::string line; std::getline(file, line);) {
    std::string &rank = ranks.emplace_back();
    std::istringstream cells(line);
    for (std::string cell; std::getline(cells, cell, ',');)
      if (cell.find("SHARD") == std::string::npos &&
          cell.find("REDUCE_GRAD") == std::string::npos)
        rank += cell + " ";
  }
  return ranks;
}

// Verifies the communication that PyTorch 2.15 inserts. PyTorch's own simulator
// cannot check these files (schedules.md 3.7).
TEST(Communication, TorchsOwnListsAreProved) {
  struct File {
    const char *name;
    int64_t stages, microbatches;
  };
  for (const File &file :
       {File{"DualPipeV-p2-m5-v2-comms.csv", 4, 5},
        File{"Interleaved1F1B-p4-m8-v2-comms.csv", 8, 8},
        File{"InterleavedZeroBubble-p2-m4-v2-comms.csv", 4, 4},
        File{"LoopedBFS-p2-m4-v2-comms.csv", 4, 4},
        File{"ZBVZeroBubble-p3-m6-v2-comms.csv", 6, 6}}) {
    std::vector<std::string> ranks = torchLists(file.name);
    ASSERT_GE(ranks.size(), 2u) << file.name;
    CommSchedule lists = fromText(file.stages, file.microbatches, ranks);
    EXPECT_EQ(errorOf(lists, chainGraph(file.stages, false)), "") << file.name;
    // Without any single entry of rank 0 it is rejected.
    for (size_t at = 0; at < lists.ranks[0].size(); ++at) {
      CommSchedule less = lists;
      less.ranks[0].erase(less.ranks[0].begin() + at);
      EXPECT_NE(errorOf(less, chainGraph(file.stages, false)), "")
          << file.name << " without " << toString(lists.ranks[0][at]);
    }
  }
}

// The size required by contract D: verified in less than a second.
TEST(Communication, LargeStepIsProvedQuickly) {
  ScheduleShape shape{64, 512, false};
  shape.chunks = 2;
  Schedule schedule = *findGenerator("breadth-first")->generate(shape);
  StageGraph graph = chainGraph(schedule.stages, false);
  Result<CommPlan> plan = insertCommunication(schedule, graph);
  ASSERT_TRUE(plan);
  EXPECT_EQ(errorOf(plan->schedule, graph), "");
  EXPECT_EQ(plan->channels.size(), 128u);
}
