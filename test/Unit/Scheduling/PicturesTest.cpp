//===- PicturesTest.cpp - the pictures above the generators ---------------===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The header comment of every generator's file draws its schedule for 4 ranks
// and 8 microbatches, with one slot for each F, I and W of a stage. These tests
// compare the drawings with the generated schedules.
//
//===----------------------------------------------------------------------===//

#include "Letters.h"
#include "UnitProblem.h"
#include "gtest/gtest.h"
#include <fstream>
#include <map>

using namespace stagewright;

/// The lines of a comment that draw ranks, without `//   `.
static std::string pictureIn(const std::string &file) {
  std::ifstream stream(STAGEWRIGHT_SOURCE_DIR "/lib/Scheduling/Generators/" +
                       file);
  EXPECT_TRUE(stream.is_open()) << file;
  std::string line, picture;
  bool numbers = false;
  while (std::getline(stream, line)) {
    bool rank = line.rfind("//   rank ", 0) == 0;
    if (rank || numbers)
      picture += line.substr(5) + "\n";
    numbers = rank;
  }
  return picture;
}

TEST(Pictures, AreWhatTheGeneratorsDo) {
  std::map<std::string, std::string> files = {
      {"gpipe", "GPipe.cpp"},
      {"1f1b", "OneFOneB.cpp"},
      {"eager-1f1b", "EagerOneFOneB.cpp"},
      {"early-backward", "EarlyBackward.cpp"},
      {"window", "Window.cpp"},
      {"zb-h1", "ZbH1.cpp"},
      {"zb-h2", "ZbH2.cpp"},
      {"zb-h2-latency", "ZbH2Latency.cpp"},
      {"interleaved", "Interleaved.cpp"},
      {"breadth-first", "BreadthFirst.cpp"},
      {"looped-bfs", "LoopedBreadthFirst.cpp"},
      {"interleaved-zb", "InterleavedZb.cpp"},
      {"looped-zb", "LoopedZb.cpp"},
      {"looped-zb-wide", "LoopedZbWide.cpp"},
      {"zb-v", "ZbV.cpp"},
      {"v-half", "VHalf.cpp"},
      {"v-min", "VMin.cpp"},
      {"dualpipe", "DualPipe.cpp"},
      {"dualpipe-v", "DualPipeV.cpp"},
      {"chimera", "Chimera.cpp"},
      {"forward-only", "ForwardOnly.cpp"}};
  for (const Generator &generator : allGenerators()) {
    ASSERT_TRUE(files.count(generator.name)) << generator.name;
    bool forwardOnly = generator.name == std::string("forward-only");
    int64_t chunks = forwardOnly ? 2 : generator.leastChunks;
    // Latency-aware schedules are drawn with a hop as long as a forward.
    EqualTimes times;
    times.hop = generator.name == std::string("eager-1f1b") ||
                generator.name == std::string("zb-h2-latency");
    ScheduleShape shape{4, 8, forwardOnly, chunks, 0, times.hop};
    Result<Schedule> schedule = generator.generate(shape);
    ASSERT_TRUE(schedule) << schedule.error().message;
    Result<Timeline> timing =
        timeSchedule(*schedule, equalStages(generator.placement, shape, times));
    ASSERT_TRUE(timing) << timing.error().message;
    EXPECT_EQ(pictureIn(files[generator.name]), drawLetters(*schedule, *timing))
        << generator.name;
  }
}
