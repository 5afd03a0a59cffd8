//===- TorchCsvTest.cpp - schedules as PyTorch's CSV ----------------------===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ListText.h"
#include "stagewright/Scheduling/Generators.h"
#include "stagewright/Scheduling/Verify.h"
#include <gtest/gtest.h>
#include <random>

using namespace stagewright;
using stagewright::testing::toString;

static std::string errorOf(std::string_view text) {
  Result<TorchCsv> csv = readTorchCsv(text);
  return csv ? "no error" : csv.error().message;
}

TEST(TorchCsv, ReadsActionsPairsAndBlanks) {
  // Python's writer ends lines with \r\n.
  Result<TorchCsv> csv = readTorchCsv("0F0, ,0F1,(0F2;0B0)OVERLAP_F_B\r\n"
                                      ",1F0 ,1I0,1W0,\r\n");
  ASSERT_TRUE(csv.ok()) << csv.error().message;
  EXPECT_EQ(csv->schedule.stages, 2);
  EXPECT_EQ(csv->schedule.microbatches, 3);
  EXPECT_FALSE(csv->hasTransfers);
  ASSERT_EQ(csv->schedule.ranks.size(), 2u);
  EXPECT_EQ(toString(csv->schedule.ranks[0]), "0F0 0F1 (0F2;0B0)OVERLAP_F_B");
  EXPECT_EQ(toString(csv->schedule.ranks[1]), "1F0 1I0 1W0");
}

TEST(TorchCsv, ErrorsSayLineAndCell) {
  EXPECT_EQ(errorOf(""), "there is no line; a schedule has one for every rank");
  EXPECT_EQ(errorOf("0F0\n\n1F0\n"),
            "line 2: there is no action; every rank has one at least");
  std::string how = "is not an action; write stage, kind (F, B, I or W) and "
                    "microbatch, as in 2F0, a pair as in (3F1;4B0)OVERLAP_F_B";
  EXPECT_EQ(errorOf("0F0\n1F0,1X0"), "line 2, cell 2: '1X0' " + how);
  EXPECT_EQ(errorOf("0F"), "line 1, cell 1: '0F' " + how);
  EXPECT_EQ(errorOf("0F0a"), "line 1, cell 1: '0F0a' " + how);
  EXPECT_EQ(errorOf("0R0"), "line 1, cell 1: '0R0' " + how);
  EXPECT_EQ(errorOf("0U"), "line 1, cell 1: '0U' " + how);
  EXPECT_EQ(errorOf("0UNSHARD3"), "line 1, cell 1: '0UNSHARD3' " + how);
  EXPECT_EQ(errorOf("(0F0;0B0"), "line 1, cell 1: '(0F0;0B0' " + how);
  EXPECT_EQ(errorOf("99999999999999999999F0"),
            "line 1, cell 1: '99999999999999999999F0' " + how);
  EXPECT_EQ(errorOf("(0B0;0F0)OVERLAP_F_B"),
            "line 1, cell 1: '(0B0;0F0)OVERLAP_F_B' is not a pair of a forward "
            "and a backward");
  EXPECT_EQ(errorOf("0UNSHARD"),
            "line 1: rank 0 communicates but computes nothing");
}

// A file of sixteen characters must not allocate tables of 4 billion entries.
TEST(TorchCsv, LargeNumbersAreErrors) {
  EXPECT_EQ(errorOf("0F0,0F65536"),
            "line 1, cell 2: '0F65536' is beyond what a step may have: 65536 "
            "stages and 65536 microbatches");
  EXPECT_EQ(errorOf("0F0,65535F65535"),
            "line 1, cell 2: '65535F65535' and '65535F65535' make 4294967296 "
            "forwards, the most is 4194304");
  EXPECT_EQ(errorOf("0F0,1F0,0F7"),
            "line 1, cell 2: '1F0' and '0F7' make 2 stages and 8 "
            "microbatches, but there are only 3 actions");
}

TEST(TorchCsv, EveryStageIsOnARank) {
  EXPECT_EQ(errorOf("0F0,0B0\n2F0,2B0\n"),
            "line 2, cell 1: '2F0' is of stage 2, but stage 1 is on no rank");
}

TEST(TorchCsv, MarkOfTheByteOrderIsNoCell) {
  Result<TorchCsv> csv = readTorchCsv("\xEF\xBB\xBF"
                                      "0F0,0B0\n");
  ASSERT_TRUE(csv.ok()) << csv.error().message;
  EXPECT_EQ(toString(csv->schedule.ranks.at(0)), "0F0 0B0");
}

TEST(TorchCsv, ReadsTransfers) {
  std::string head = "0UNSHARD,0F0,0SEND_F0,0RECV_B0,0B0,0WAIT_SEND_F0,0REDUCE_"
                     "GRAD,0WAIT_REDUCE_GRAD,0RESHARD\n";
  std::string tail = "1RECV_F0,1F0,1B0,1SEND_B0,1WAIT_SEND_B0\n";
  Result<TorchCsv> csv = readTorchCsv(head + tail);
  ASSERT_TRUE(csv.ok()) << csv.error().message;
  EXPECT_TRUE(csv->hasTransfers);
  EXPECT_EQ(toString(csv->schedule.ranks[0]), "0F0 0B0");
  EXPECT_EQ(toString(csv->lists.ranks[0]),
            "0F0 0SEND_F0 0RECV_B0 0B0 0WAIT_SEND_F0");
  EXPECT_EQ(toString(csv->lists.ranks[1]),
            "1RECV_F0 1F0 1B0 1SEND_B0 1WAIT_SEND_B0");
  EXPECT_TRUE(verify(csv->lists).ok());

  auto without = [&](const std::string &cell) {
    std::string text = head + tail;
    size_t at = text.find(cell + ",");
    return text.erase(at, cell.size() + 1);
  };
  EXPECT_EQ(errorOf(without("0REDUCE_GRAD")),
            "line 1, cell 7: '0WAIT_REDUCE_GRAD' waits for no reduction of its "
            "stage");
  EXPECT_EQ(errorOf(without("0WAIT_REDUCE_GRAD")),
            "line 1, cell 7: '0REDUCE_GRAD' is not waited for");
  // Missing sends and receives are found by the verifier.
  for (const char *cell :
       {"0SEND_F0", "0RECV_B0", "0WAIT_SEND_F0", "1RECV_F0", "1SEND_B0"})
    EXPECT_FALSE(verify(readTorchCsv(without(cell))->lists).ok()) << cell;
}

TEST(TorchCsv, WritesTransfersAsTorchDoes) {
  Schedule schedule{"test", 2, 2, {}};
  schedule.ranks.push_back(parseOrder("0F0 (0F1;0B0)OVERLAP_F_B 0I1 0W1 0U"));
  schedule.ranks.push_back(parseOrder("1F0 1B0 1F1 1B1 1U"));
  Result<TorchLists> lists = insertTransfers(schedule);
  ASSERT_TRUE(lists.ok()) << lists.error().message;
  Result<std::string> text = writeTorchCsv(*lists);
  ASSERT_TRUE(text.ok()) << text.error().message;
  Result<TorchCsv> read = readTorchCsv(*text);
  ASSERT_TRUE(read.ok()) << read.error().message;
  EXPECT_TRUE(verify(read->lists).ok());
  EXPECT_NE(text->find("0UNSHARD,0F0,"), std::string::npos) << *text;
  EXPECT_NE(text->find("1B1,1SEND_B1,1REDUCE_GRAD"), std::string::npos)
      << *text;
  EXPECT_NE(text->find(",0W1,0REDUCE_GRAD,0WAIT_REDUCE_GRAD,0RESHARD"),
            std::string::npos)
      << *text;
}

// Any file is parsed and verified, or rejected.
TEST(TorchCsv, AnyTextIsReadOrRefused) {
  constexpr unsigned kSeed = 5;
  SCOPED_TRACE("seed " + std::to_string(kSeed));
  std::mt19937 random(kSeed);
  auto below = [&](size_t end) { return random() % end; };
  const std::string good =
      "0UNSHARD,0F0,0SEND_F0,0F1,0SEND_F1,0RECV_B0,0B0,0RECV_B1,0I1,0W1,"
      "0WAIT_SEND_F0,0WAIT_SEND_F1,0REDUCE_GRAD,0WAIT_REDUCE_GRAD\r\n"
      "1RECV_F0,1F0,1RECV_F1,(1F1;1B0)OVERLAP_F_B,1SEND_B0,1B1,1SEND_B1,"
      "1WAIT_SEND_B0,1WAIT_SEND_B1,,\n";
  const std::string letters = "0123456789FBIWRUSENDCVAIT_();, \n\r\"\xff";
  size_t read = 0, right = 0;
  for (int round = 0; round < 3000; ++round) {
    std::string text = good;
    for (size_t edits = 1 + below(3); edits-- > 0;) {
      size_t at = below(text.size());
      if (below(3) == 0)
        text.erase(at, 1 + below(12));
      else if (below(2) == 0)
        text.insert(at, text.substr(below(text.size()), below(12)));
      else
        text[at] = letters[below(letters.size())];
      if (text.empty())
        text = "0";
    }
    Result<TorchCsv> csv = readTorchCsv(text);
    if (!csv) {
      EXPECT_FALSE(csv.error().message.empty());
      continue;
    }
    ++read;
    StageGraph graph = chainGraph(csv->schedule.stages, false);
    if (verify(csv->schedule, graph).ok() && verify(csv->lists).ok())
      ++right;
  }
  EXPECT_GT(read, 50u);
  EXPECT_GT(right, 10u);
  EXPECT_LT(right, read);
}

TEST(TorchCsv, WritesWhatTorchReads) {
  Schedule schedule{"test", 2, 2, {}};
  schedule.ranks.push_back(parseOrder("0F0 (0F1;0B0)OVERLAP_F_B 0B1 0U"));
  schedule.ranks.push_back(parseOrder("1F0 1B0 1F1 1B1 1U"));
  EXPECT_EQ(*writeTorchCsv(schedule),
            "0F0,(0F1;0B0)OVERLAP_F_B,0B1\n1F0,1B0,1F1,1B1\n");
}

TEST(TorchCsv, SaysWhatItCannotWrite) {
  auto errorOf = [](std::vector<Order> ranks) {
    return writeTorchCsv({"test", 2, 2, std::move(ranks)}).error().message;
  };
  EXPECT_EQ(errorOf({parseOrder("0F0 0B0"), parseOrder("0F1 0B1")}),
            "stage 0 runs on ranks 0 and 1, but PyTorch's CSV has a stage on "
            "one rank only; export a schedule without twins, such as "
            "dualpipe-v");
  EXPECT_EQ(errorOf({parseOrder("0F0 0R0 0B0")}),
            "rank 0 runs 0R0, but PyTorch's CSV has no recomputation");
  EXPECT_EQ(errorOf({parseOrder("0F0"), {}}),
            "rank 1 runs nothing, which PyTorch's CSV cannot say");
  EXPECT_EQ(errorOf({parseOrder("0U")}),
            "rank 0 only updates, which PyTorch's CSV cannot say");
}

/// Shapes of which every generator accepts at least one.
static std::vector<ScheduleShape> shapesFor(const Generator &generator) {
  std::vector<ScheduleShape> shapes;
  for (int64_t ranks : {2, 4})
    for (int64_t microbatches : {4, 8, 10}) {
      ScheduleShape shape{ranks, microbatches};
      shape.chunks = std::max<int64_t>(generator.leastChunks, 1);
      shapes.push_back(shape);
      shape.forwardOnly = true;
      shapes.push_back(shape);
    }
  return shapes;
}

/// Writing and reading a schedule with messages must not change it.
static void expectTransfers(const Schedule &schedule) {
  Result<TorchLists> lists = insertTransfers(schedule);
  ASSERT_TRUE(lists.ok()) << schedule.kind << lists.error().message;
  Result<std::string> text = writeTorchCsv(*lists);
  ASSERT_TRUE(text.ok()) << schedule.kind << text.error().message;
  Result<TorchCsv> read = readTorchCsv(*text);
  ASSERT_TRUE(read.ok()) << schedule.kind << read.error().message;
  EXPECT_TRUE(read->hasTransfers) << schedule.kind;
  EXPECT_EQ(read->schedule.ranks, schedule.ranks) << schedule.kind;
  EXPECT_EQ(read->lists, *lists) << schedule.kind;
}

TEST(TorchCsv, EveryGeneratorGoesThereAndBack) {
  for (const Generator &generator : allGenerators()) {
    size_t made = 0;
    for (const ScheduleShape &shape : shapesFor(generator)) {
      Result<Schedule> schedule = generator.generate(shape);
      if (!schedule)
        continue;
      ++made;
      Result<std::string> text = writeTorchCsv(*schedule);
      if (generator.placement == Placement::Twin) {
        ASSERT_FALSE(text.ok()) << generator.name;
        EXPECT_NE(text.error().message.find("runs on ranks"),
                  std::string::npos);
        continue;
      }
      ASSERT_TRUE(text.ok()) << generator.name << text.error().message;
      Result<TorchCsv> read = readTorchCsv(*text);
      ASSERT_TRUE(read.ok()) << generator.name << read.error().message;
      EXPECT_EQ(read->schedule.ranks, schedule->ranks) << generator.name;
      EXPECT_EQ(read->schedule.stages, schedule->stages) << generator.name;
      EXPECT_EQ(read->schedule.microbatches, shape.microbatches)
          << generator.name;
      expectTransfers(*schedule);
    }
    EXPECT_GT(made, 0u) << generator.name;
  }
}
