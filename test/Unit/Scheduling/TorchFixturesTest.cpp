//===- TorchFixturesTest.cpp - orders written by torch --------------------===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Fixtures/torch/make_fixtures.py wrote the files with torch. Times and peaks
// are those of GoldenGridTest.cpp: F = I = W = 1 for all stages of a
// rank together, free hops.
//
//===----------------------------------------------------------------------===//

#include "../OrderText.h"
#include "stagewright/Scheduling/Generators.h"
#include "stagewright/Scheduling/Timing.h"
#include "stagewright/Scheduling/TorchCsv.h"
#include "stagewright/Scheduling/Verify.h"
#include "stagewright/Support/Files.h"
#include <algorithm>
#include <filesystem>
#include <gtest/gtest.h>

using namespace stagewright;

static TorchCsv read(const std::string &name) {
  Result<std::string> text =
      readTextFile(std::string(TORCH_FIXTURES) + "/" + name + ".csv");
  EXPECT_TRUE(text.ok()) << name;
  Result<TorchCsv> csv = text ? readTorchCsv(*text) : Result<TorchCsv>(Error{});
  EXPECT_TRUE(csv.ok()) << name << ": " << csv.error().message;
  return csv ? *csv : TorchCsv();
}

static Status verifyChain(const Schedule &schedule) {
  return verify(schedule, chainGraph(schedule.stages, false));
}

/// The names without ".csv" of all files except those of 1F1B, which are wrong.
static std::vector<std::string> rightFiles() {
  std::vector<std::string> names;
  for (const auto &file : std::filesystem::directory_iterator(TORCH_FIXTURES))
    if (file.path().extension() == ".csv" &&
        file.path().stem().string().find("1F1B-p") != 0)
      names.push_back(file.path().stem().string());
  std::sort(names.begin(), names.end());
  return names;
}

TEST(TorchFixtures, ReadAndVerify) {
  std::vector<std::string> names = rightFiles();
  EXPECT_EQ(names.size(), 21u);
  for (const std::string &name : names) {
    Status status = verifyChain(read(name).schedule);
    EXPECT_TRUE(status.ok()) << name << ": " << status.error().message;
  }
}

// Torch's lowered schedules compute the same as before, plus communication, and
// are verified here. Torch's own simulator rejects all of them ("Unsupported
// action type 0UNSHARD").
TEST(TorchFixtures, LoweredOrdersComputeTheSame) {
  for (const char *name : {"LoopedBFS-p2-m4-v2", "Interleaved1F1B-p4-m8-v2",
                           "InterleavedZeroBubble-p2-m4-v2",
                           "ZBVZeroBubble-p3-m6-v2", "DualPipeV-p2-m5-v2"}) {
    TorchCsv lowered = read(std::string(name) + "-comms"), plain = read(name);
    EXPECT_TRUE(lowered.hasTransfers) << name;
    EXPECT_FALSE(plain.hasTransfers) << name;
    EXPECT_EQ(lowered.schedule, plain.schedule) << name;
    Status status = verify(lowered.lists);
    EXPECT_TRUE(status.ok()) << name << ": " << status.error().message;
  }
}

TEST(TorchFixtures, AreWhatOurGeneratorsMake) {
  struct Row {
    const char *name, *generator;
    ScheduleShape shape;
  };
  auto shape = [](int64_t ranks, int64_t microbatches, int64_t chunks = 1,
                  int64_t group = 0) {
    return ScheduleShape{ranks, microbatches, false, chunks, group};
  };
  for (const Row &row : std::initializer_list<Row>{
           {"GPipe-p2-m4", "gpipe", shape(2, 4)},
           {"GPipe-p4-m8", "gpipe", shape(4, 8)},
           {"LoopedBFS-p2-m4-v2", "looped-bfs", shape(2, 4, 2)},
           {"LoopedBFS-p4-m8-v2", "looped-bfs", shape(4, 8, 2)},
           {"Interleaved1F1B-p2-m4-v2", "interleaved", shape(2, 4, 2)},
           {"Interleaved1F1B-p4-m8-v2", "interleaved", shape(4, 8, 2)},
           {"Interleaved1F1B-p4-m8-v4", "interleaved", shape(4, 8, 4)},
           {"Interleaved1F1B-p4-m6-v2", "interleaved", shape(4, 6, 2, 6)},
           {"InterleavedZeroBubble-p2-m4-v2", "interleaved-zb", shape(2, 4, 2)},
           {"InterleavedZeroBubble-p4-m8-v2", "interleaved-zb", shape(4, 8, 2)},
           {"InterleavedZeroBubble-p4-m8-v4", "interleaved-zb", shape(4, 8, 4)},
           {"ZBVZeroBubble-p3-m6-v2", "zb-v", shape(3, 6, 2)},
           {"ZBVZeroBubble-p4-m8-v2", "zb-v", shape(4, 8, 2)},
           {"DualPipeV-p2-m5-v2", "dualpipe-v", shape(2, 5, 2)},
           {"DualPipeV-p4-m8-v2", "dualpipe-v", shape(4, 8, 2)},
           {"DualPipeV-p4-m10-v2", "dualpipe-v", shape(4, 10, 2)}}) {
    Result<Schedule> ours = findGenerator(row.generator)->generate(row.shape);
    ASSERT_TRUE(ours.ok()) << row.name << ": " << ours.error().message;
    EXPECT_EQ(ours->ranks, read(row.name).schedule.ranks) << row.name;
  }
}

static Timeline timed(const std::string &name, Placement placement,
                      int64_t chunks) {
  Schedule schedule = read(name).schedule;
  ScheduleProblem problem;
  problem.placement = placement;
  problem.ranks = static_cast<int64_t>(schedule.ranks.size());
  problem.chunks = chunks;
  problem.microbatches = schedule.microbatches;
  double share = 1.0 / double(chunks);
  Seconds time(share);
  problem.stages.assign(schedule.stages, {time, time, time, share, share, 0});
  problem.hops.resize(schedule.stages - 1);
  Result<Timeline> timing = timeSchedule(schedule, problem);
  EXPECT_TRUE(timing.ok()) << name << ": " << timing.error().message;
  return timing ? *timing : Timeline();
}

TEST(TorchFixtures, TakeWhatTheGridSays) {
  struct Row {
    const char *name;
    Placement placement;
    int64_t chunks;
    double makespan, span;
    std::vector<double> peaks;
  };
  using enum Placement;
  for (const Row &row : std::initializer_list<Row>{
           {"GPipe-p4-m8", Linear, 1, 33, 33, {8, 8, 8, 8}},
           {"LoopedBFS-p4-m8-v2", Loop, 2, 28.5, 28.5, {8, 8, 8, 8}},
           {"Interleaved1F1B-p4-m8-v2",
            Loop,
            2,
            28.5,
            28.5,
            {5.5, 4.5, 3.5, 2.5}},
           {"Interleaved1F1B-p4-m8-v4",
            Loop,
            4,
            26.25,
            26.25,
            {4.75, 4.25, 3.75, 3.25}},
           {"InterleavedZeroBubble-p4-m8-v2",
            Loop,
            2,
            25.5,
            25.5,
            {4, 4, 4, 4}},
           {"InterleavedZeroBubble-p4-m8-v4",
            Loop,
            4,
            24.75,
            24.75,
            {4, 4, 4, 4}},
           {"ZBVZeroBubble-p4-m8-v2", V, 2, 25.5, 24, {4, 4, 4, 4}},
           {"DualPipeV-p4-m8-v2", V, 2, 25.5, 25.5, {4.5, 4.5, 4.5, 4.5}}}) {
    Timeline timing = timed(row.name, row.placement, row.chunks);
    EXPECT_DOUBLE_EQ(timing.makespan.value, row.makespan) << row.name;
    EXPECT_DOUBLE_EQ(timing.span.value, row.span) << row.name;
    EXPECT_EQ(timing.peaks, row.peaks) << row.name;
  }
}

// In its table of 1F1B torch 2.15 numbers the forwards of the last rank from 1,
// so the last microbatch does not exist.
TEST(TorchFixtures, WrongOneFOneBIsRejected) {
  TorchCsv csv = read("1F1B-p4-m6");
  EXPECT_EQ(csv.lastMicrobatch, "line 4, cell 11: '3F6'");
  Schedule schedule = csv.schedule;
  EXPECT_EQ(schedule.microbatches, 7);
  ASSERT_EQ(schedule.ranks.size(), 4u);
  EXPECT_EQ(toString(schedule.ranks[3]),
            "3F1 3B0 3F2 3B1 3F3 3B2 3F4 3B3 3F5 3B4 3F6 3B5");
  Status seven = verifyChain(schedule);
  ASSERT_FALSE(seven.ok());
  EXPECT_NE(seven.error().message.find("0F6"), std::string::npos)
      << seven.error().message;
  schedule.microbatches = 6; // As requested from torch.
  Status six = verifyChain(schedule);
  ASSERT_FALSE(six.ok());
  EXPECT_NE(six.error().message.find("3F6"), std::string::npos)
      << six.error().message;
}
