//===- WriteTraceTest.cpp - a simulated step for trace viewers ------------===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "stagewright/Simulation/WriteTrace.h"
#include "PipelineModels.h"
#include <gtest/gtest.h>
#include <map>
#include <nlohmann/json.hpp>

using namespace stagewright;
using nlohmann::json;

static json traceOf(const PipelineModel &model) {
  auto timeline = simulatePipeline(model, ExecutionOrder::OneFOneB);
  return json::parse(writeTrace(model, *timeline, {"a \"trace\"", {"d0"}}));
}

TEST(WriteTrace, HasAnEventForEveryBlock) {
  PipelineModel model = chainModel({1, 1}, {2, 2}, {0.5}, 4);
  model.stages[0].tail = Seconds(1);
  json trace = traceOf(model);
  EXPECT_EQ(trace["otherData"]["title"], "a \"trace\"");
  size_t blocks = 0;
  double end = 0;
  for (const json &event : trace["traceEvents"]) {
    if (event["ph"] != "X")
      continue;
    ++blocks;
    end = std::max(end, event["ts"].get<double>() + event["dur"].get<double>());
    if (event["name"] == "1F2")
      EXPECT_EQ(event["args"], json({{"stage", 1}, {"microbatch", 2}}));
  }
  EXPECT_EQ(blocks, 2u * 2 * 4 + 2 * 4 + 1);
  // M (F + B) + (F + B + 2c) + 2c floor((M - 1) / 2) + tail.
  EXPECT_EQ(end, 18e6);
}

// Both ends of an arrow must be inside a block of their thread, else the viewer
// drops it. An arrow starts where a value is made and ends where it is used.
TEST(WriteTrace, ArrowsTouchBlocks) {
  PipelineModel model = chainModel({1, 2, 1}, {2, 2, 3}, {0.5, 0}, 3);
  json trace = traceOf(model);
  std::map<size_t, std::string> arrows;
  for (const json &flow : trace["traceEvents"]) {
    std::string phase = flow["ph"];
    if (phase != "s" && phase != "t" && phase != "f")
      continue;
    for (const json &block : trace["traceEvents"])
      if (block["ph"] == "X" && block["pid"] == flow["pid"] &&
          block["tid"] == flow["tid"] && block["ts"] <= flow["ts"] &&
          block["ts"].get<double>() + block["dur"].get<double>() >=
              flow["ts"].get<double>())
        arrows[flow["id"]] += block["name"].get<std::string>() + " ";
  }
  // Two channels (one without transfer time), two directions, three
  // microbatches.
  EXPECT_EQ(arrows.size(), 2u * 2 * 3);
  EXPECT_EQ(arrows[0], "0F0 0>1F0 1F0 ");
  EXPECT_EQ(arrows[11], "2B2 1B2 ");
}
