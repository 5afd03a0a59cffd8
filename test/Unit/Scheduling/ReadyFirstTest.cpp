//===- ReadyFirstTest.cpp - lanes, credits and deadlocks ------------------===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "stagewright/Scheduling/ReadyFirst.h"
#include "../OrderText.h"
#include "../Random.h"
#include "stagewright/Scheduling/Generators.h"
#include <gtest/gtest.h>
#include <map>

using namespace stagewright;
using stagewright::testing::Draw;
using enum ActionKind;

/// The token game itself: whether every transition can fire `rounds` times.
static bool playsOn(const MarkedGraph &graph, int64_t rounds) {
  std::vector<int64_t> tokens, fired(graph.transitions);
  for (const MarkedGraph::Place &place : graph.places)
    tokens.push_back(place.tokens);
  for (bool moved = true; moved;) {
    moved = false;
    for (size_t t = 0; t < graph.transitions; ++t) {
      bool enabled = fired[t] < rounds;
      for (size_t p = 0; p < tokens.size(); ++p)
        enabled &= graph.places[p].to != t || tokens[p] > 0;
      if (!enabled)
        continue;
      for (size_t p = 0; p < tokens.size(); ++p)
        tokens[p] += int64_t(graph.places[p].from == t) -
                     int64_t(graph.places[p].to == t);
      ++fired[t];
      moved = true;
    }
  }
  return *std::min_element(fired.begin(), fired.end()) == rounds;
}

TEST(MarkedGraph, EmptyCyclesAreWhereTheTokenGameIsStuck) {
  int64_t stuck = 0;
  for (uint64_t seed = 0; seed < 1000; ++seed) {
    Draw draw(seed);
    MarkedGraph graph;
    graph.transitions = size_t(draw.whole(1, 8));
    auto any = [&] { return size_t(draw.whole(0, graph.transitions - 1)); };
    for (int64_t p = draw.whole(1, 14); p > 0; --p)
      graph.places.push_back({any(), any(), draw.whole(0, 1)});
    std::vector<size_t> cycle = findEmptyCycle(graph);
    EXPECT_EQ(cycle.empty(), playsOn(graph, 3)) << "seed " << seed;
    for (size_t i = 0; i < cycle.size(); ++i) {
      const MarkedGraph::Place &place = graph.places[cycle[i]];
      EXPECT_EQ(place.tokens, 0);
      EXPECT_EQ(place.to, graph.places[cycle[(i + 1) % cycle.size()]].from);
    }
    stuck += !cycle.empty();
  }
  EXPECT_GT(stuck, 100);
  EXPECT_LT(stuck, 900);
}

/// Runs `microbatches` of every phase as slots and messages allow, by counting
/// how often each phase has run; whether all end.
static bool finishes(const StageGraph &graph,
                     const std::vector<int64_t> &credits,
                     int64_t microbatches) {
  std::map<StagePhase, int64_t> ran;
  for (int64_t s = 0; s < graph.stages; ++s)
    for (ActionKind kind : {Forward, InputGradient, WeightGradient})
      ran[{kind, s}] = 0;
  auto isReady = [&](StagePhase phase, int64_t m) {
    if (phase.phase == InputGradient && ran[{Forward, phase.stage}] <= m)
      return false;
    if (phase.phase == WeightGradient && ran[{InputGradient, phase.stage}] <= m)
      return false;
    // A forward needs credit: one more would be too many in flight.
    if (phase.phase == Forward &&
        m - ran[{WeightGradient, phase.stage}] >= credits[phase.stage])
      return false;
    for (const StageEdge &edge : graph.edges) {
      if (edge.firstUse == phase && ran[edge.producer] <= m)
        return false;
      if (edge.producer == phase &&
          m - ran[edge.lastUse] >=
              slotsOf(credits, edge.producer, edge.lastUse))
        return false;
    }
    return true;
  };
  for (bool moved = true; moved;) {
    moved = false;
    for (auto &[phase, count] : ran)
      if (count < microbatches && isReady(phase, count))
        ++count, moved = true;
  }
  for (auto [phase, count] : ran)
    if (count < microbatches)
      return false;
  return true;
}

TEST(ReadyFirst, CreditsAreAcceptedIfASimulatedRunEnds) {
  int64_t accepted = 0;
  for (uint64_t seed = 0; seed < 1000; ++seed) {
    Draw draw(seed);
    int64_t stages = draw.whole(1, 6);
    StageGraph graph = chainGraph(stages, false);
    for (int64_t skips = draw.whole(0, 3); skips > 0 && stages > 2; --skips) {
      int64_t from = draw.whole(0, stages - 3);
      int64_t to = draw.whole(from + 2, stages - 1);
      ActionKind last = draw.chance(0.5) ? Forward : InputGradient;
      graph.edges.push_back({{Forward, from}, {Forward, to}, {last, to}});
    }
    std::vector<int64_t> credits; // Those of 1F1B, some of them changed.
    for (int64_t s = 0; s < stages; ++s)
      credits.push_back(draw.chance(0.3) ? draw.whole(0, 2) : stages - s);
    Status status = checkCredits(graph, credits);
    EXPECT_EQ(status.ok(), finishes(graph, credits, 7)) << "seed " << seed;
    accepted += status.ok();
  }
  EXPECT_GT(accepted, 300);
  EXPECT_LT(accepted, 900);
}

TEST(ReadyFirst, EachStageNeedsACredit) {
  for (bool forwardOnly : {false, true})
    EXPECT_EQ(checkCredits(chainGraph(2, forwardOnly), {2, 0}).error().message,
              "stage 1 has 0 credits, expected 1 or more");
  EXPECT_EQ(checkCredits(chainGraph(2, false), {2}).error().message,
            "credits are given for 1 stages, but there are 2");
}

TEST(ReadyFirst, TheErrorNamesACycleOfValues) {
  StageGraph graph = chainGraph(2, true);
  graph.edges.push_back({{Forward, 1}, {Forward, 0}, {Forward, 0}});
  EXPECT_EQ(checkCredits(graph, {1, 1}).error().message,
            "the values of a cycle wait for each other, so its actions never "
            "run: F of stage 0 waits for the value of F of stage 1, which "
            "waits for the value of F of stage 0");
}

TEST(ReadyFirst, RanksHaveALaneForEachKindAndStage) {
  std::vector<Lane> lanes =
      lanesOf(parseOrder("0F0 1F0 0F1 1F1 1R0 1I0 1W0 0B1 0B0 1B1 0U"), 2);
  std::string text;
  for (const Lane &lane : lanes) {
    text += std::to_string(lane.priority) + ":";
    for (const Order &block : lane.blocks)
      text += " " + toString(block) + (block.size() > 1 ? "," : "");
    text += "\n";
  }
  EXPECT_EQ(text, "0: 0B0 0B1\n"
                  "0: 1R0 1I0, 1I1\n"
                  "1: 0F0 0F1\n"
                  "1: 1F0 1F1\n"
                  "2: 1W0 1W1\n");
}

// Stages 1 and 3 are copies of stage 1 of 2. They share its sums, so they share
// its lane.
TEST(ReadyFirst, CopiesOfAStageShareALane) {
  std::vector<Lane> lanes = lanesOf(parseOrder("3F1 1F0 1F2 1B0 3B1 1B2"), 2);
  ASSERT_EQ(lanes.size(), 2u);
  EXPECT_EQ(toString(lanes[1].blocks[0]) + toString(lanes[1].blocks[1]) +
                toString(lanes[1].blocks[2]),
            "1F03F11F2");
}

// A ring has one slot in use and one for the next message, and more for an
// input that is kept for the backward and for values that skip stages.
TEST(ReadyFirst, RingsHaveSlotsForWhatIsInFlight) {
  std::vector<int64_t> credits = {4, 3, 2, 1};
  EXPECT_EQ(slotsOf(credits, {Forward, 0}, {InputGradient, 0}), 4);
  EXPECT_EQ(slotsOf(credits, {Recompute, 0}, {InputGradient, 0}), 1);
  EXPECT_EQ(slotsOf(credits, {Forward, 0}, {Forward, 1}), 2);
  EXPECT_EQ(slotsOf(credits, {InputGradient, 1}, {InputGradient, 0}), 2);
  EXPECT_EQ(slotsOf(credits, {Forward, 0}, {InputGradient, 1}), 4);
  EXPECT_EQ(slotsOf(credits, {Forward, 0}, {Forward, 3}), 4);
}
