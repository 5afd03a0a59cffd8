//===- SppGoldenTest.cpp - the prototype's 20 rows ------------------------===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// golden/spp_prototype.csv: five chains on four clusters of 16 devices. A test
// of the simulator runs these plans; here the planner must find plans that are
// no slower.
//
//===----------------------------------------------------------------------===//

#include "../Builds.h"
#include "PrototypeRows.h"
#include "stagewright/Planning/Planners.h"
#include <cstdio>

using namespace stagewright;
using namespace stagewright::testing;

/// A time printed with six decimals may differ by half a unit of the last one.
static constexpr double kPrinted = 5.1e-7;

TEST(SppGolden, NoRowSlowerThanThePrototypes) {
  STAGEWRIGHT_SKIP_IN_SLOW_BUILDS();
  double sum = 0;
  size_t better = 0, count = 0;
  for (const PrototypeRow &row : prototypeRows()) {
    std::string name = row.model + " on " + row.config;
    Result<Plan> plan = runPlanner(*findPlanner("spp"), prototypeProblem(row));
    ASSERT_TRUE(plan.ok()) << name;
    double time = plan->time.value;
    EXPECT_LE(time, row.time + kPrinted) << name;
    EXPECT_LE(plan->familyBound, plan->planBound) << name;
    EXPECT_LE(plan->planBound.value, time * (1 + 1e-12)) << name;
    std::printf("%s: %.6f s, prototype %.6f, bounds %.6f and %.6f\n",
                name.c_str(), time, row.time, plan->planBound.value,
                plan->familyBound.value);
    better += time < row.time * (1 - 1e-6);
    sum += time / row.time;
    ++count;
  }
  ASSERT_EQ(count, 20u);
  std::printf("%zu of 20 faster, %.4f of the prototype's time in the mean\n",
              better, sum / double(count));
}
