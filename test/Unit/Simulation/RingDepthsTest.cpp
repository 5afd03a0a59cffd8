//===- RingDepthsTest.cpp - depths of rings -------------------------------===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "stagewright/Simulation/RingDepths.h"
#include "stagewright/Scheduling/Verify.h"
#include <gtest/gtest.h>

using namespace stagewright;

static constexpr ActionKind F = ActionKind::Forward;
static constexpr ActionKind I = ActionKind::InputGradient;

static RingDepths depthsOf(const char *name, int64_t stages) {
  return *RingDepths::create(familyOf(*findGenerator(name), stages, false),
                             chainGraph(stages, false));
}

TEST(RingDepths, StashOfOneFOneBIsTheDistanceToTheEnd) {
  RingDepths depths = depthsOf("1f1b", 4);
  for (int64_t stage = 0; stage < 4; ++stage)
    EXPECT_EQ(depths.between({F, stage}, {I, stage}),
              (RingDepth{4 - stage, false}));
}

TEST(RingDepths, StashOfGPipeIsEveryMicrobatch) {
  EXPECT_EQ(depthsOf("gpipe", 2).between({F, 1}, {I, 1}), (RingDepth{1, true}));
}

TEST(RingDepths, ChannelsAreDoubleBuffered) {
  for (const char *name : {"gpipe", "1f1b"}) {
    RingDepths depths = depthsOf(name, 4);
    EXPECT_EQ(depths.between({F, 0}, {F, 1}), (RingDepth{2, false}));
    EXPECT_EQ(depths.between({I, 3}, {I, 2}), (RingDepth{2, false}));
  }
}

TEST(RingDepths, SkipConnectionIsHeldWhereItPasses) {
  RingDepths depths = depthsOf("1f1b", 4);
  EXPECT_EQ(depths.between({F, 0}, {F, 3}), (RingDepth{4, false}));
  EXPECT_EQ(depths.between({F, 0}, {F, 2}), (RingDepth{3, false}));
}

// An activation that the receiver needs in its backward is held in its slot.
// The ring has one slot more than the receiver's stash, for the next arrival.
TEST(RingDepths, ChannelHeldUntilTheBackward) {
  EXPECT_EQ(depthsOf("1f1b", 4).between({F, 0}, {I, 1}), (RingDepth{4, false}));
  EXPECT_EQ(depthsOf("gpipe", 4).between({F, 0}, {I, 1}), (RingDepth{1, true}));
}

TEST(RingDepths, AreFreeOfDeadlockForEveryNumberOfMicrobatches) {
  for (const Generator &generator : allGenerators()) {
    if (!generator.anyMicrobatches)
      continue;
    for (int64_t stages : {2, 3, 5, 8}) {
      StageGraph graph = chainGraph(stages, false);
      graph.edges.push_back({{F, 0}, {F, stages - 1}, {I, stages - 1}});
      ScheduleFamily family = familyOf(generator, stages, false);
      RingDepths depths = *RingDepths::create(family, graph);
      for (int64_t microbatches = 1; microbatches <= 32; ++microbatches) {
        for (StageEdge &edge : graph.edges)
          edge.depth =
              depths.between(edge.producer, edge.lastUse).at(microbatches);
        Status status = verify(family(microbatches), graph);
        EXPECT_TRUE(status) << status.error().message;
      }
    }
  }
}
