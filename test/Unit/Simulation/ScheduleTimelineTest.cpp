//===- ScheduleTimelineTest.cpp - timelines of timed schedules ------------===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "stagewright/Simulation/ScheduleTimeline.h"
#include "../OrderText.h"
#include "stagewright/Simulation/Grid.h"
#include "stagewright/Simulation/WriteTrace.h"
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

using namespace stagewright;

/// Two ranks with F = 1, I = 1, W = 1.
static ScheduleProblem twoRanks(double hop, int64_t microbatches) {
  ScheduleProblem problem;
  problem.ranks = 2;
  problem.microbatches = microbatches;
  problem.stages.assign(2, {Seconds(1), Seconds(1), Seconds(1), 1, 1, 0});
  problem.hops = {Seconds(hop)};
  return problem;
}

static Schedule scheduleOf(const char *first, const char *second,
                           int64_t microbatches) {
  return {"test", 2, microbatches, {parseOrder(first), parseOrder(second)}};
}

static std::string pathOf(const TimedPipeline &pipeline) {
  std::string text;
  for (const CriticalBlock &critical : pipeline.timeline.criticalPath)
    text += toString(critical.block, pipeline.model) + " " +
            toString(critical.waited) + ", ";
  return text;
}

TEST(ScheduleTimeline, HopsAreBlocksOfChannels) {
  Schedule schedule = scheduleOf("0F0 0B0", "1F0 1I0 1W0", 1);
  ScheduleProblem problem = twoRanks(0.5, 1);
  Timeline timing = *timeSchedule(schedule, problem);
  TimedPipeline pipeline = timedPipelineOf(schedule, problem, timing);
  EXPECT_EQ(pipeline.timeline.makespan.value, 6); // 1 + .5 + 2 + .5 + 2.
  ASSERT_EQ(pipeline.timeline.channels.size(), 1u);
  const auto &blocks = pipeline.timeline.channels[0];
  ASSERT_EQ(blocks.size(), 2u);
  EXPECT_EQ(blocks[0].kind, BlockKind::SendForward);
  EXPECT_EQ(blocks[0].start.value, 1);
  EXPECT_EQ(blocks[1].kind, BlockKind::SendBackward);
  EXPECT_EQ(blocks[1].end.value, 4);
  EXPECT_EQ(pathOf(pipeline),
            "0F0 nothing, 0>1F0 input, 1F0 input, 1I0 resource, 1>0B0 input, "
            "0B0 input, ");
  EXPECT_EQ(pipeline.timeline.bubbles[0].value, 3);
}

// Hops do not queue: three are in transit at once, each drawn in its own lane.
TEST(ScheduleTimeline, HopsThatOverlapHaveLanes) {
  Schedule schedule =
      scheduleOf("0F0 0F1 0F2 0B0 0B1 0B2", "1F0 1F1 1F2 1B0 1B1 1B2", 3);
  ScheduleProblem problem = twoRanks(2.5, 3);
  TimedPipeline pipeline =
      timedPipelineOf(schedule, problem, *timeSchedule(schedule, problem));
  EXPECT_EQ(pipeline.model.channels[0].forwardLanes.size(), 3u);
  EXPECT_EQ(pipeline.model.channels[0].backwardLanes.size(), 2u);
}

TEST(ScheduleTimeline, TraceHasArrowsAndPlainTime) {
  Schedule schedule = scheduleOf("0F0 0F1 0B0 0B1", "1F0 1B0 1F1 1B1", 2);
  ScheduleProblem problem = twoRanks(0, 2);
  TimedPipeline pipeline =
      timedPipelineOf(schedule, problem, *timeSchedule(schedule, problem));
  PipelineNames names{"test", {"rank 0", "rank 1"}};
  names.plainTime = true;
  auto trace = nlohmann::json::parse(
      writeTrace(pipeline.model, pipeline.timeline, names));
  EXPECT_EQ(trace["otherData"]["time"], "a unit of time is shown as 1 ms");
  size_t starts = 0, ends = 0;
  double last = 0;
  for (const auto &event : trace["traceEvents"]) {
    starts += event["ph"] == "s";
    ends += event["ph"] == "f";
    if (event["ph"] == "X")
      last = std::max(last,
                      event["ts"].get<double>() + event["dur"].get<double>());
  }
  EXPECT_EQ(starts, 4u); // Two values forward, two back.
  EXPECT_EQ(ends, 4u);
  EXPECT_EQ(last, 9e3);
}

TEST(ScheduleTimeline, PairsThatRunAsOneShareAPlace) {
  ScheduleProblem problem = twoRanks(0, 2);
  problem.overlap = 2. / 3; // A pair of F = 1 and B = 2 takes 2.
  Schedule schedule =
      scheduleOf("0F0 0F1 0B0 0B1", "1F0 (1F1;1B0)OVERLAP_F_B 1B1", 2);
  Timeline timing = *timeSchedule(schedule, problem);
  EXPECT_EQ(drawGridToScale(timing),
            "rank 0 |F0   |F1   |           |B0         |B1         |\n"
            "rank 1       |F0   |F1&B0      |B1         |\n");
  TimedPipeline pipeline = timedPipelineOf(schedule, problem, timing);
  EXPECT_EQ(pathOf(pipeline), "0F0 nothing, 0F1 resource, 1B0 input, 1B1 "
                              "resource, 0B1 input, ");
}
