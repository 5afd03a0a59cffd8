//===- SimulateReadyTest.cpp - credits against latency --------------------===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "stagewright/Scheduling/Generators.h"
#include "stagewright/Scheduling/InFlight.h"
#include "stagewright/Scheduling/ReadyFirst.h"
#include "stagewright/Scheduling/Replicas.h"
#include "stagewright/Simulation/AssignCredits.h"
#include "stagewright/Support/Jitter.h"
#include <cmath>
#include <gtest/gtest.h>

using namespace stagewright;
using enum ActionKind;

namespace {
/// S stages in a row, forward 1 s, backward 2 s, c seconds a hop.
struct Chain {
  int64_t stages, microbatches;
  double hop = 0;
  StageGraph graph = chainGraph(stages, false);
  Schedule schedule =
      *findGenerator("1f1b")->generate({stages, microbatches, false});
  StepTimes times = [this] {
    StepTimes unit = unitTimes(stages);
    unit.hops.assign(graph.edges.size(), Seconds(hop));
    return unit;
  }();

  /// The run in which only stages limit the microbatches in flight.
  ReadyRun run(const std::vector<int64_t> &credits) const {
    StageGraph limited = graph;
    for (int64_t s = 0; s < stages; ++s)
      limited.edges.push_back(
          {{Forward, s}, {InputGradient, s}, {WeightGradient, s}, credits[s]});
    StepTimes known = times;
    known.hops.resize(limited.edges.size());
    return *simulateReady(schedule, limited, known);
  }
  double slowdown(const std::vector<int64_t> &credits) const {
    Seconds unlimited =
        simulateReady(schedule, graph, times)->timeline.makespan;
    return run(credits).timeline.makespan.value / unlimited.value;
  }
  std::vector<int64_t> byStage(auto credit) const {
    std::vector<int64_t> all;
    for (int64_t s = 0; s < stages; ++s)
      all.push_back(credit(s));
    return all;
  }
  /// ceil(((S - s)(f + b) + 2 (S - 1 - s) c) / (f + b)) + more
  std::vector<int64_t> little(int64_t more) const {
    return byStage([&](int64_t s) {
      double trip = double(stages - s) * 3 + 2 * double(stages - 1 - s) * hop;
      return int64_t(std::ceil(trip / 3 - 1e-9)) + more;
    });
  }
};
} // namespace

// Values of an independent simulator: M = 64, slow-down against unlimited
// credits, for S - s, k(s), k(s) + 1, k(s) + 2 and 2 S credits. 0: not in the
// table.
TEST(SimulateReady, CreditsAgainstLatency) {
  struct Row {
    int64_t stages;
    double hop, textbook, little, one, two, flat;
  };
  for (const Row &row :
       {Row{4, 0, 1, 1, 0, 0, 1}, Row{4, 0.25, 0, 1.059, 1.022, 1, 1},
        Row{4, 0.5, 1.230, 1.118, 1.049, 1, 1}, Row{4, 1, 0, 1.097, 1, 1, 1},
        Row{4, 1.5, 1.671, 1, 0, 0, 1}, Row{4, 2, 0, 1.070, 1.033, 1, 1.131},
        Row{4, 3, 2.288, 1, 0, 0, 0},
        Row{8, 0.5, 1.250, 1.127, 1.082, 1.045, 1},
        Row{8, 1.5, 1.705, 1, 0, 0, 1},
        Row{8, 2, 0, 1.066, 1.046, 1.025, 1.174},
        Row{8, 3, 2.294, 1, 0, 0, 0}}) {
    Chain chain{row.stages, 64, row.hop};
    auto expect = [&](double published, const std::vector<int64_t> &credits) {
      if (published > 0) {
        EXPECT_NEAR(chain.slowdown(credits) / published, 1, 0.01)
            << row.stages << " stages, hop " << row.hop << ", credit "
            << credits[0];
      }
    };
    expect(row.textbook,
           chain.byStage([&](int64_t s) { return row.stages - s; }));
    expect(row.little, chain.little(0));
    expect(row.one, chain.little(1));
    expect(row.two, chain.little(2));
    expect(row.flat, chain.byStage([&](int64_t) { return 2 * row.stages; }));
  }
}

// 1F1B follows from S - s credits alone.
TEST(SimulateReady, TextbookCreditsGiveOneFOneB) {
  for (int64_t stages : {2, 4, 8})
    for (int64_t m = stages; m <= 4 * stages; m += stages) {
      Chain chain{stages, m};
      ReadyRun run =
          chain.run(chain.byStage([&](int64_t s) { return stages - s; }));
      EXPECT_EQ(run.timeline.makespan, Seconds(double(m + stages - 1) * 3));
      EXPECT_EQ(run.orders, chain.schedule);
    }
}

TEST(SimulateReady, PeaksAreTheCredits) {
  Chain chain{4, 8};
  EXPECT_EQ(chain.run({8, 8, 8, 8}).timeline.makespan, Seconds(33));
  EXPECT_EQ(chain.run({1, 1, 1, 1}).timeline.makespan, Seconds(96));
  EXPECT_EQ(stashedMicrobatches(chain.run({2, 2, 2, 1}).orders),
            (std::vector<int64_t>{2, 2, 2, 1}));
}

TEST(SimulateReady, AnotherOrderIsAnErrorOnlyIfItIsIncomplete) {
  Chain chain{2, 2};
  std::swap(chain.schedule.ranks[1][0], chain.schedule.ranks[1][1]);
  EXPECT_TRUE(simulateReady(chain.schedule, chain.graph, chain.times).ok());
  chain.schedule.ranks[1].pop_back();
  EXPECT_FALSE(simulateReady(chain.schedule, chain.graph, chain.times).ok());
}

// The column of the table in which the slow-down ends.
TEST(AssignCredits, LittlesLawWithAsManyMoreAsThePhaseNeeds) {
  for (auto [hop, more] : {std::pair(0.0, 0),
                           {0.25, 2},
                           {0.5, 2},
                           {1.0, 1},
                           {1.5, 0},
                           {2.0, 2},
                           {3.0, 0}}) {
    Chain chain{4, 64, hop};
    Credits credits =
        *assignCredits(chain.schedule, chain.graph, chain.times, {});
    EXPECT_EQ(credits.wanted, chain.little(more)) << hop;
    EXPECT_EQ(credits.assigned, credits.wanted);
    // Rings between stages cost nothing in addition.
    EXPECT_LE(credits.loss(), 0.01) << hop;
  }
}

/// Each stage keeps 1 for each microbatch, in `limit`.
static CreditMemory keptIn(double limit) {
  CreditMemory memory;
  for (int64_t s = 0; s < 4; ++s)
    memory.rings.push_back({{Forward, s}, {InputGradient, s}, 1});
  memory.limits.assign(4, limit);
  return memory;
}

TEST(AssignCredits, MemoryTakesCreditsBack) {
  Chain chain{4, 64};
  CreditMemory memory = keptIn(2);
  Credits credits =
      *assignCredits(chain.schedule, chain.graph, chain.times, memory);
  EXPECT_EQ(credits.wanted, (std::vector<int64_t>{4, 3, 2, 1}));
  EXPECT_EQ(credits.assigned, (std::vector<int64_t>{2, 2, 2, 1}));
  EXPECT_TRUE(credits.isCapped());
  EXPECT_GT(credits.loss(), 0.2);
}

TEST(AssignCredits, TheErrorStatesWhatIsMissing) {
  Chain chain{4, 64};
  CreditMemory memory = keptIn(0.5);
  EXPECT_EQ(assignCredits(chain.schedule, chain.graph, chain.times, memory)
                .error()
                .message,
            "rank 0 has 0.5 left for microbatches in flight, but one on each "
            "of its stages takes 1: give 0.5 more with memory=, or more "
            "stages");
  memory.inBytes = true;
  for (CreditRing &ring : memory.rings)
    ring.size = 3 << 20;
  memory.limits.assign(4, 1 << 20);
  EXPECT_EQ(assignCredits(chain.schedule, chain.graph, chain.times, memory)
                .error()
                .message,
            "rank 0 has 1.0 MiB left for microbatches in flight, but one on "
            "each of its stages takes 3.0 MiB: give 2.0 MiB more with "
            "memory=, or more stages");
}

// Stage 1 keeps what it gets from stage 0 until its backward: one slot under
// way, and one for each credit.
TEST(AssignCredits, RingsOfOtherStagesTakeMemory) {
  Chain chain{4, 64};
  CreditMemory memory;
  memory.rings = {{{Forward, 0}, {InputGradient, 1}, 1}};
  memory.limits.assign(4, 4);
  Credits credits =
      *assignCredits(chain.schedule, chain.graph, chain.times, memory);
  EXPECT_EQ(credits.assigned, (std::vector<int64_t>{4, 3, 2, 1}));
  memory.limits.assign(4, 3);
  credits = *assignCredits(chain.schedule, chain.graph, chain.times, memory);
  EXPECT_EQ(credits.assigned, (std::vector<int64_t>{4, 2, 2, 1}));
  memory.limits.assign(4, 1);
  EXPECT_FALSE(assignCredits(chain.schedule, chain.graph, chain.times, memory));
}

// The last stage has one credit, and a ring for a value that skips stage 2: as
// many slots as stage 1 has more credits, and one that is kept. Stages 0 and 2
// have no part in that.
TEST(AssignCredits, OnlyStagesThatUseTheMemoryLoseCredits) {
  Chain chain{4, 64};
  CreditMemory memory;
  memory.rings = {{{Forward, 1}, {InputGradient, 3}, 1}};
  memory.limits = {100, 100, 100, 2};
  Credits credits =
      *assignCredits(chain.schedule, chain.graph, chain.times, memory);
  EXPECT_EQ(credits.wanted, (std::vector<int64_t>{4, 3, 2, 1}));
  EXPECT_EQ(credits.assigned, (std::vector<int64_t>{4, 2, 2, 1}));
}

// Two replicas have every second microbatch, and half of the slots, rounded up.
TEST(AssignCredits, ReplicasShareTheCredits) {
  Chain chain{2, 64};
  Schedule both = dealInTurn(chain.schedule, {{0, 2}, {1, 3}});
  CreditMemory memory;
  memory.rings = {{{Forward, 0}, {InputGradient, 0}, 1}};
  memory.limits = {2, 2};
  auto assigned = [&](int64_t spare) {
    return assignCredits(both, chain.graph, chain.times, memory, spare)
        ->assigned[0];
  };
  int64_t wanted =
      assignCredits(both, chain.graph, chain.times, {}, 0)->wanted[0];
  EXPECT_EQ(assigned(0), std::min<int64_t>(wanted, 4));
  EXPECT_EQ(assigned(5), 4); // 5 credits are 3 slots.
}

// If the forward runs again, what it makes takes one slot.
TEST(AssignCredits, RepeatedForwardsHoldOneMicrobatch) {
  Chain chain{4, 64};
  chain.schedule = runAgain(chain.schedule, {true, false, false, false});
  CreditMemory memory;
  memory.rings = {{{Forward, 0}, {InputGradient, 0}, 1, false},
                  {{Recompute, 0}, {InputGradient, 0}, 1, true}};
  memory.limits.assign(4, 1);
  Credits credits =
      *assignCredits(chain.schedule, chain.graph, chain.times, memory);
  EXPECT_FALSE(credits.isCapped());
  // Until its W, as many as there are credits.
  memory.rings[1].last.phase = WeightGradient;
  credits = *assignCredits(chain.schedule, chain.graph, chain.times, memory);
  EXPECT_EQ(credits.assigned[0], 1);
}

// With chunks, twins, and I and W apart.
TEST(AssignCredits, AllGeneratorsRunReadyFirst) {
  for (const Generator &generator : allGenerators()) {
    SCOPED_TRACE(generator.name);
    ScheduleShape shape{4, 16, std::string(generator.name) == "forward-only"};
    shape.chunks = generator.leastChunks;
    Result<Schedule> schedule = generator.generate(shape);
    if (!schedule)
      continue;
    StageGraph graph = chainGraph(schedule->stages, shape.forwardOnly);
    StepTimes times = unitTimes(schedule->stages);
    Result<Credits> credits = assignCredits(*schedule, graph, times, {});
    ASSERT_TRUE(credits.ok()) << credits.error().message;
    EXPECT_TRUE(checkCredits(graph, credits->assigned).ok());
    Seconds ordered = timeSchedule(*schedule, graph, times)->makespan;
    // Only orders that alternate between chunks in groups are faster.
    bool groups = generator.leastChunks > 1 && !generator.splitsBackward;
    EXPECT_LE(credits->makespan.value, (groups ? 1.14 : 1) * ordered.value);
  }
}

TEST(Jitter, DelaysOneRankOfEachWaveByItsMean) {
  Jitter jitter{0.5, 7};
  double sum = 0;
  for (int64_t m = 0; m < 4000; ++m) {
    int64_t delayed = 0;
    for (int64_t rank = 0; rank < 4; ++rank) {
      double delay = jitter.of('F', m, rank, 4);
      delayed += delay > 0;
      sum += delay;
      EXPECT_EQ(delay, jitter.of('F', m, rank, 4));
    }
    EXPECT_LE(delayed, 1);
  }
  EXPECT_NEAR(sum / 4000, 0.5, 0.03);
  EXPECT_NE(jitter.of('F', 1, 0, 1), jitter.of('B', 1, 0, 1));
  EXPECT_EQ((Jitter{0, 7}.of('F', 1, 0, 1)), 0);
}
