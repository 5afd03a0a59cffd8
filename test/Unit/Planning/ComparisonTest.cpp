//===- ComparisonTest.cpp - default planner against the others ------------===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "../Builds.h"
#include "PrototypeRows.h"
#include "stagewright/Planning/Baselines/Baselines.h"
#include <cstdio>

using namespace stagewright;
using namespace stagewright::testing;

/// Compares the planners on the prototype's 20 problems, in one simulator.
static void compare(bool isPrototypesModel) {
  for (const PrototypeRow &row : prototypeRows()) {
    SCOPED_TRACE(row.model + " on " + row.config);
    Problem problem = prototypeProblem(row);
    if (!isPrototypesModel)
      problem.model = CostModel();
    Result<Plan> plan = planSpp(problem);
    ASSERT_TRUE(plan) << plan.error().message;
    EXPECT_TRUE(verify(problem, *plan));
    std::printf("%s on %s: spp %.4f", row.model.c_str(), row.config.c_str(),
                plan->time.value);
    for (auto planner : {planDataParallel, planStraight, planBlockPartition,
                         planDapple, planPipeDream}) {
      Result<Plan> other = planner(problem);
      ASSERT_TRUE(other) << other.error().message;
      EXPECT_LE(plan->time.value, other->time.value * (1 + 1e-12))
          << other->planner;
      std::printf(", %s %.4f", other->planner.c_str(), other->time.value);
    }
    std::printf("\n");
  }
}

TEST(Comparison, NoOtherPlannerIsFasterInThePrototypesModel) {
  STAGEWRIGHT_SKIP_IN_SLOW_BUILDS();
  compare(true);
}

TEST(Comparison, NoOtherPlannerIsFasterInTheModelOfRealSteps) {
  STAGEWRIGHT_SKIP_IN_SLOW_BUILDS();
  compare(false);
}
