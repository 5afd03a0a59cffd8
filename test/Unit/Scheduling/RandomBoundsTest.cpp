//===- RandomBoundsTest.cpp - bounds compared with random schedules -------===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// No bound may be above the time of a schedule. Schedules are those of every
// generator and random orders, which are rarely first in, first out. Memory is
// the minimum that each schedule needs.
//
//===----------------------------------------------------------------------===//

#include "Naive.h"
#include "stagewright/Scheduling/LowerBounds.h"
#include "stagewright/Scheduling/Timing.h"
#include "gtest/gtest.h"
#include <algorithm>

using namespace stagewright;
using namespace stagewright::testing;

static void expectBelow(const LowerBounds &bounds, const Timeline &timing,
                        const std::string &name) {
  EXPECT_LE(bounds.makespan.value.value, timing.makespan.value * (1 + 1e-9))
      << name << ": " << bounds.makespan.reason;
  EXPECT_LE(bounds.span.value.value, timing.span.value * (1 + 1e-9))
      << name << ": " << bounds.span.reason;
}

/// Checks the bounds of `problem` with the minimum memory for `schedule`.
static void check(const Schedule &schedule, ScheduleProblem problem,
                  const std::string &name) {
  Result<Timeline> timing = timeSchedule(schedule, problem);
  ASSERT_TRUE(bool(timing)) << name << ": " << timing.error().message;
  problem.memory =
      *std::max_element(timing->peaks.begin(), timing->peaks.end());
  // With less memory than the schedule needs, the bound is still not above it.
  ScheduleProblem tight = problem;
  tight.memory *= 0.6;
  Result<LowerBounds> own = lowerBoundsOf(schedule, *timing, tight);
  ASSERT_TRUE(bool(own)) << name << ": " << own.error().message;
  bool again = runs(schedule, ActionKind::Recompute);
  if (!again)
    expectBelow(lowerBounds(problem), *timing, name);
  if (!again && !runs(schedule, ActionKind::WeightGradient))
    expectBelow(lowerBoundsWithoutSplit(problem), *timing, name + ", whole");
  expectBelow(lowerBoundsWithRecompute(problem), *timing, name + ", again");
}

TEST(RandomBounds, AreBelowEveryGenerator) {
  Draw draw(78);
  for (const Sample &sample : sampleSchedules())
    for (uint64_t i = 0; i < std::max<uint64_t>(1, 20 / kPart); ++i) {
      ScheduleProblem problem = sample.problem;
      drawCosts(problem, draw);
      problem.overlap = draw.chance(0.3) ? draw.real(0.3, 1) : 0;
      Schedule schedule = sample.schedule;
      if (draw.chance(0.3))
        recomputeSome(schedule, draw);
      check(schedule, problem, sample.name);
    }
}

/// Draws an order of all actions in which each follows its inputs, so the
/// schedule has no deadlock.
static Schedule drawSchedule(const ScheduleProblem &problem, Draw &draw) {
  int64_t m = problem.microbatches, stages = problem.numStages();
  Schedule schedule{"random", stages, m, {}};
  schedule.ranks.resize(problem.ranks);
  // By stage and microbatch: how many of F, I and W have run.
  std::vector<int> done(stages * m, 0);
  auto ready = [&](int64_t s, int64_t j) {
    int own = done[s * m + j];
    if (own == 0)
      return s == 0 || done[(s - 1) * m + j] > 0;
    if (own == 1)
      return s + 1 == stages || done[(s + 1) * m + j] > 1;
    return own == 2;
  };
  constexpr ActionKind kKinds[] = {ActionKind::Forward,
                                   ActionKind::InputGradient,
                                   ActionKind::WeightGradient};
  // Prefers I and W with a random probability, to limit the memory needed.
  double haste = draw.real(0, 1);
  for (int64_t left = 3 * stages * m; left > 0; --left) {
    std::vector<int64_t> choices, late;
    for (int64_t at = 0; at < stages * m; ++at)
      if (ready(at / m, at % m))
        (done[at] > 0 ? late : choices).push_back(at);
    if (!late.empty() && (choices.empty() || draw.chance(haste)))
      choices = late;
    int64_t at = choices[draw.whole(0, int64_t(choices.size()) - 1)];
    schedule.ranks[problem.rankOf(at / m)].push_back(
        {kKinds[done[at]++], at / m, at % m});
  }
  return schedule;
}

TEST(RandomBounds, AreBelowRandomOrders) {
  Draw draw(79);
  for (uint64_t i = 0; i < 4000 / kPart; ++i) {
    ScheduleProblem problem;
    problem.placement = std::vector{Placement::Linear, Placement::Loop,
                                    Placement::V}[draw.whole(0, 2)];
    problem.ranks = draw.whole(1, 4);
    problem.chunks = draw.chance(0.5) ? 1 : draw.whole(2, 3);
    problem.microbatches = draw.whole(1, 6);
    problem.stages.resize(problem.numStages());
    problem.hops.resize(problem.numStages() - 1);
    drawCosts(problem, draw);
    check(drawSchedule(problem, draw), problem,
          std::string(toString(problem.placement)) + " " + std::to_string(i));
  }
}
