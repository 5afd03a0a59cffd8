//===- DrawSvgTest.cpp - a simulated step as a picture --------------------===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "stagewright/Simulation/DrawSvg.h"
#include "PipelineModels.h"
#include <gtest/gtest.h>

using namespace stagewright;

static size_t count(const std::string &text, const std::string &what) {
  size_t found = 0;
  for (size_t at = text.find(what); at != std::string::npos;
       at = text.find(what, at + 1))
    ++found;
  return found;
}

static std::string draw(const PipelineModel &model, ExecutionOrder order,
                        const PipelineNames &names) {
  return drawSvg(model, *simulatePipeline(model, order), names);
}

TEST(DrawSvg, HasABarForEveryBlock) {
  PipelineModel model = chainModel({1, 1}, {2, 2}, {0.5}, 4);
  model.stages[0].tail = Seconds(1);
  model.ties.push_back({1, 0, Seconds(3)});
  // M (F + B) + (F + B + 2c) + 2c floor((M - 1) / 2) = 17.
  std::string svg = draw(model, ExecutionOrder::OneFOneB, {"two stages", {}});
  // 4 microbatches forward and backward on 2 stages and a channel, and 2
  // collectives.
  EXPECT_EQ(count(svg, "<g>"), 2u * 2 * 4 + 2 * 4 + 2);
  EXPECT_EQ(count(svg, "<g>"), count(svg, "</g>"));
  EXPECT_EQ(count(svg, "<text"), count(svg, "</text>"));
  EXPECT_EQ(count(svg, "<title>forward of microbatch 3 on stage 1, "), 1u);
  EXPECT_EQ(count(svg, "transfer back of microbatch 0 between stages 0 and 1"),
            1u);
  EXPECT_EQ(count(svg, "<title>all-reduce on stage 0, 17 s to 18 s"), 1u);
  EXPECT_NE(svg.find("makespan 18 s, "), std::string::npos);
  EXPECT_NE(svg.find(">processor 1<"), std::string::npos);
  EXPECT_EQ(svg.find("nan"), std::string::npos);
}

TEST(DrawSvg, EscapesNames) {
  PipelineModel model = chainModel({1}, {1}, {}, 1);
  std::string svg =
      draw(model, ExecutionOrder::GPipe, {"a < b & c", {"\"d\" <0>"}});
  EXPECT_NE(svg.find("a &lt; b &amp; c"), std::string::npos);
  EXPECT_NE(svg.find("&quot;d&quot; &lt;0&gt;"), std::string::npos);
}

TEST(DrawSvg, DrawsAStepThatTakesNoTime) {
  PipelineModel model = chainModel({0, 0}, {0, 0}, {0}, 2);
  std::string svg = draw(model, ExecutionOrder::Window, {"nothing", {}});
  EXPECT_EQ(count(svg, "<g>"), 0u);
  EXPECT_EQ(svg.find("nan"), std::string::npos);
  EXPECT_EQ(svg.find("inf"), std::string::npos);
}
