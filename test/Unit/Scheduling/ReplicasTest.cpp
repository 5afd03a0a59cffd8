//===- ReplicasTest.cpp - stages whose replicas take turns ----------------===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "stagewright/Scheduling/Replicas.h"
#include "../Random.h"
#include "stagewright/Scheduling/InFlight.h"
#include "stagewright/Scheduling/Verify.h"
#include <gtest/gtest.h>

using namespace stagewright;

/// The ranks of a chain: the first replica of stage s is on rank s; further
/// replicas are on the ranks after those.
static ReplicaRanks chainOf(const std::vector<int64_t> &replicas) {
  ReplicaRanks ranks;
  auto next = int64_t(replicas.size());
  for (int64_t count : replicas) {
    ranks.push_back({int64_t(ranks.size())});
    while (int64_t(ranks.back().size()) < count)
      ranks.back().push_back(next++);
  }
  return ranks;
}

/// Max number of microbatches held by any rank of `stage`.
static int64_t mostHeld(const Schedule &schedule, int64_t stage) {
  int64_t most = 0;
  for (const StashPeak &peak : stashPeaks(schedule))
    if (peak.stage == stage)
      most = std::max(most, peak.held);
  return most;
}

// Each of several parallel pipelines runs the order that it would run alone.
TEST(Replicas, PipelinesSideBySide) {
  for (const Generator &generator : allGenerators()) {
    if (generator.placement == Placement::Twin ||
        std::string(generator.name) == "forward-only")
      continue;
    for (int64_t replicas : {2, 3}) {
      ScheduleShape shape;
      shape.ranks = 2;
      shape.chunks = generator.leastChunks;
      // One pipeline gets an additional microbatch, if the generator allows it.
      int64_t more = generator.leastChunks == 1;
      shape.microbatches = 8 * replicas + more;
      int64_t stages = numStages(generator.placement, 2, shape.chunks);
      ReplicaRanks ranks;
      for (int64_t s = 0; s < stages; ++s) {
        int64_t rank = rankOf(generator.placement, 2, shape.chunks, s);
        ranks.emplace_back();
        for (int64_t k = 0; k < replicas; ++k)
          ranks.back().push_back(k == 0 ? rank
                                        : 2 + rank * (replicas - 1) + k - 1);
      }
      Result<Schedule> all = generateInTurn(generator, shape, ranks);
      ASSERT_TRUE(all) << generator.name << ": " << all.error().message;
      EXPECT_EQ(int64_t(all->ranks.size()), 2 * replicas);
      EXPECT_TRUE(verify(*all, chainGraph(stages, false))) << generator.name;
      for (int64_t k = 0; k < replicas; ++k) {
        shape.microbatches = 8 + (k == 0 ? more : 0);
        Schedule alone = *generator.generate(shape);
        Schedule one = oneOf(*all, ranks, k);
        EXPECT_EQ(one.microbatches, shape.microbatches);
        EXPECT_EQ(one.ranks, alone.ranks) << generator.name << ", " << k;
      }
    }
  }
}

// Microbatches are redistributed between stages with unequal numbers of
// replicas. Under 1F1B the replicas of a stage together hold one microbatch for
// each replica of this and all later stages.
TEST(Replicas, UnequalReplicasFinish) {
  const unsigned seed = 7;
  std::mt19937 random(seed);
  for (int round = 0; round < 200; ++round) {
    ScheduleShape shape;
    shape.ranks = 1 + int64_t(random() % 5);
    shape.microbatches = 1 + int64_t(random() % 24);
    std::vector<int64_t> replicas;
    for (int64_t s = 0; s < shape.ranks; ++s)
      replicas.push_back(1 + int64_t(random() % 4));
    ReplicaRanks ranks = chainOf(replicas);
    for (const char *name : {"1f1b", "gpipe", "window", "early-backward"}) {
      Result<Schedule> made =
          generateInTurn(*findGenerator(name), shape, ranks);
      ASSERT_TRUE(made) << made.error().message;
      ASSERT_TRUE(verify(*made, chainGraph(shape.ranks, false)))
          << name << ", seed " << seed << ", round " << round;
      int64_t ahead = 0;
      for (int64_t s = shape.ranks; std::string(name) == "1f1b" && s-- > 0;) {
        ahead += replicas[s];
        EXPECT_LE(mostHeld(*made, s), (ahead + replicas[s] - 1) / replicas[s])
            << "round " << round << ", stage " << s;
      }
    }
  }
}

// Errors state how many microbatches one pipeline would have.
TEST(Replicas, ErrorsSayWhatAPipelineGets) {
  ScheduleShape shape;
  shape.ranks = 4;
  shape.chunks = 2;
  shape.microbatches = 8;
  Result<Schedule> made = generateInTurn(
      *findGenerator("zb-v"), shape,
      {{0, 4}, {1, 5}, {2, 6}, {3, 7}, {3, 7}, {2, 6}, {1, 5}, {0, 4}});
  ASSERT_FALSE(made);
  EXPECT_NE(made.error().message.find(
                "; one of 2 pipelines side by side runs 4 of the 8 "
                "microbatches"),
            std::string::npos)
      << made.error().message;
}

// With fewer microbatches than pipelines, some pipelines are idle.
TEST(Replicas, FewerMicrobatchesThanPipelines) {
  ScheduleShape shape;
  shape.ranks = 2;
  shape.microbatches = 2;
  Result<Schedule> made =
      generateInTurn(*findGenerator("1f1b"), shape, chainOf({3, 3}));
  ASSERT_TRUE(made);
  ASSERT_EQ(made->ranks.size(), 6u);
  EXPECT_TRUE(verify(*made, chainGraph(2, false)));
  EXPECT_TRUE(made->ranks[3].empty());
}
