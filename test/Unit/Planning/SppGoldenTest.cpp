//===- SppGoldenTest.cpp - the prototype's 20 rows ------------------------===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// golden/spp_prototype.csv: five chains on four clusters of 16 devices. A test
// of the simulator runs its plans; here the planner has to find plans no slower
// than its, and than those of other planners.
//
//===----------------------------------------------------------------------===//

#include "Chains.h"
#include "stagewright/Planning/Planners.h"
#include <cctype>
#include <cstdio>
#include <map>

using namespace stagewright;
using namespace stagewright::testing;

namespace {
struct Row {
  std::string model, cluster;
  int64_t microbatches;
  double time;

  std::string name() const { return model + " on " + cluster; }
  Problem problem() const {
    Result<Cluster> place =
        loadCluster(cluster == "P4" ? "pipedream-p4"
                                    : std::string("dapple-") +
                                          char(std::tolower(cluster[0])));
    EXPECT_TRUE(place.ok());
    return prototypeProblem(model, *place, microbatches);
  }
};
} // namespace

static std::vector<Row> rows() {
  std::stringstream text(readShared("data/golden/spp_prototype.csv"));
  std::string line;
  std::getline(text, line);
  std::vector<Row> rows;
  while (std::getline(text, line)) {
    std::stringstream fields(line);
    Row row;
    std::string number;
    std::getline(fields, row.model, ',');
    std::getline(fields, row.cluster, ',');
    std::getline(fields, number, ',');
    row.microbatches = std::stoll(number);
    std::getline(fields, number, ',');
    row.time = std::stod(number);
    rows.push_back(row);
  }
  return rows;
}

/// What is printed to six digits behind the point may be half of the last one
/// more.
static constexpr double kPrinted = 5.1e-7;

TEST(SppGolden, NoRowSlowerThanThePrototypes) {
  double sum = 0;
  size_t better = 0, count = 0;
  for (const Row &row : rows()) {
    Result<Plan> plan = planSpp(row.problem());
    ASSERT_TRUE(plan.ok()) << row.name();
    double time = plan->time.value;
    EXPECT_LE(time, row.time + kPrinted) << row.name();
    EXPECT_LE(plan->familyBound, plan->planBound) << row.name();
    EXPECT_LE(plan->planBound.value, time * (1 + 1e-12)) << row.name();
    std::printf("%s: %.6f s, prototype %.6f, bounds %.6f and %.6f\n",
                row.name().c_str(), time, row.time, plan->planBound.value,
                plan->familyBound.value);
    better += time < row.time * (1 - 1e-6);
    sum += time / row.time;
    ++count;
  }
  ASSERT_EQ(count, 20u);
  std::printf("%zu of 20 faster, %.4f of the prototype's time in the mean\n",
              better, sum / double(count));
}

TEST(SppGolden, NoRowSlowerThanOtherPlanners) {
  std::map<std::string, double> ratios;
  for (const Row &row : rows()) {
    SCOPED_TRACE(row.name());
    Problem problem = row.problem();
    Result<Plan> plan = planSpp(problem);
    ASSERT_TRUE(plan.ok());
    double most = plan->time.value * (1 - 1e-9);
    for (const char *name :
         {"data-parallel", "straight", "dapple", "pipedream", "pipedream-code",
          "alpa", "balance", "block-partition"}) {
      Problem other = problem;
      if (std::string(name) == "balance")
        other.stages = 16;
      Result<Planner> planner = findPlanner(name);
      ASSERT_TRUE(planner.ok()) << name;
      Result<Plan> theirs = planner->plan(other);
      ASSERT_TRUE(theirs.ok()) << name << ": " << theirs.error().message;
      EXPECT_LE(most, theirs->time.value) << name;
      ratios[name] += theirs->time.value / plan->time.value / 20;
    }
  }
  for (const auto &[name, ratio] : ratios)
    std::printf("%s takes %.3f times as long in the mean\n", name.c_str(),
                ratio);
}
