//===- ExhaustiveTest.cpp - the default planner against all plans ---------===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Small problems: up to 6 layers on 4 devices; all cuts, numbers of replicas
// and assignments of devices; the best of window, greedy, K_A, K_B and GPipe
// orders. Links are drawn from [0.5, 8], microbatches from 1 to 32, F from
// [0.2, 2], B from 1 to 2.5 times F, cuts up to 4 units, gradients up to 8. In
// every other instance the all-reduce overlaps with the backward. Plans of
// refine may have several stages on a device, so they may be faster than all of
// these.
//
//===----------------------------------------------------------------------===//

#include "RandomInstances.h"
#include "stagewright/Planning/Bounds.h"
#include "stagewright/Planning/Planners.h"
#include <algorithm>
#include <cstdio>
#include <gtest/gtest.h>

using namespace stagewright;
using namespace stagewright::testing;

static constexpr uint64_t kSeed = 4562;

namespace {
/// The planner's time divided by the best time of all plans.
struct Ratios {
  double sum = 0, worst = 0, overFamily = 0;
  uint64_t count = 0, optimal = 0, worstInstance = 0;

  void add(uint64_t instance, double time, double best, double family) {
    double ratio = time / best;
    sum += ratio;
    overFamily += best / family;
    ++count;
    optimal += ratio < 1 + 1e-9;
    if (ratio > worst) {
      worst = ratio;
      worstInstance = instance;
    }
  }
  double mean() const { return sum / double(count); }
  void print(const char *what) const {
    std::printf("%s: mean %.5f, worst %.4f (instance %llu), optimal %llu of "
                "%llu; optimum over family bound %.3f\n",
                what, mean(), worst, (unsigned long long)worstInstance,
                (unsigned long long)optimal, (unsigned long long)count,
                overFamily / double(count));
  }
};
} // namespace

static Problem randomProblem(uint64_t instance, size_t devices,
                             int64_t leastLayers, int64_t mostLayers,
                             double slowest, double fastest) {
  Draw draw(kSeed + instance);
  Problem problem;
  problem.cluster = randomCluster(draw, devices, slowest, fastest);
  problem.microbatches = draw.whole(1, 32);
  addRandomLayers(problem, draw, draw.whole(leastLayers, mostLayers), 4, 8);
  problem.model.overlapAllReduce = instance % 2;
  problem.orders = {ExecutionOrder::Window, ExecutionOrder::Greedy,
                    ExecutionOrder::CapA, ExecutionOrder::EarlyBackward,
                    ExecutionOrder::GPipe};
  return problem;
}

/// Compares the plans of spp, and those that refine makes of them.
static Ratios compare(const char *what, uint64_t instances, size_t devices,
                      int64_t leastLayers, int64_t mostLayers,
                      double slowest = 0.5, double fastest = 8) {
  std::printf("seed %llu, ", (unsigned long long)kSeed);
  Ratios ratios, refined;
  for (uint64_t i = 0; i < instances; ++i) {
    Problem problem =
        randomProblem(i, devices, leastLayers, mostLayers, slowest, fastest);
    Network network = *Network::create(problem.cluster);
    Result<Plan> plan = planSpp(problem);
    EXPECT_TRUE(plan.ok());
    if (!plan)
      return ratios;
    double time = plan->time.value;
    double best = bestOfAllPlans(problem, network, time);
    double bound = familyLowerBound(problem, network).value;
    EXPECT_LE(bound, best * (1 + 1e-9)) << "instance " << i;
    ratios.add(i, time, best, bound);
    Result<Plan> better = planRefine(problem);
    EXPECT_TRUE(better.ok());
    if (!better)
      return ratios;
    EXPECT_LE(better->time.value, time * (1 + 1e-12)) << "instance " << i;
    refined.add(i, better->time.value, best, bound);
  }
  ratios.print(what);
  refined.print("  with refine");
  return ratios;
}

TEST(Exhaustive, SixLayersFourDevices) {
  EXPECT_LE(compare("up to 6 layers, 4 devices", 1000 / kPart, 4, 2, 6).mean(),
            1.01);
}

TEST(Exhaustive, FiveLayersSixDevices) {
  EXPECT_LE(compare("5 layers, 6 devices", 200 / kPart, 6, 5, 5).mean(), 1.02);
}

TEST(Exhaustive, FlatNetwork) {
  EXPECT_LE(
      compare("flat network, 4 devices", 250 / kPart, 4, 2, 6, 2, 2).mean(),
      1.0008);
}
