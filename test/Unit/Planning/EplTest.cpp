//===- EplTest.cpp - EPL's partitions and orders --------------------------===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What EPL (EasyParallelLibrary, the published code of Whale) computes: 48
// lists of weights, each partitioned by both of its functions, and the control
// edges of its three schedules for 10 shapes. For each of them our slowest
// stage, or our step time without and with hops, must be as good or better.
//
//===----------------------------------------------------------------------===//

#include "../Scheduling/UnitProblem.h"
#include "PlanningData.h"
#include "stagewright/Planning/Baselines/Baselines.h"
#include "stagewright/Scheduling/Timing.h"
#include <algorithm>
#include <cstdio>
#include <gtest/gtest.h>
#include <limits>
#include <map>
#include <nlohmann/json.hpp>

using namespace stagewright;
using json = nlohmann::json;

TEST(Epl, SlowestStagesOfItsPartitionsAreMetOrBeaten) {
  int met = 0, beaten = 0;
  for (const json &row :
       json::parse(sharedText("epl/partition_vectors.json"))) {
    Problem problem;
    double all = 0, slowest = 0;
    for (double weight : row["weights"]) {
      problem.layers.push_back({"l" + std::to_string(problem.layers.size()),
                                {{Seconds(weight), Seconds(), {}}}});
      all += weight;
    }
    size_t devices = row["k"];
    ASSERT_TRUE(placeOn(problem, hostsOf({row["k"]}, 1, 1)));
    problem.maxReplicas = 1;
    Result<Plan> plan = planStraight(problem);
    ASSERT_TRUE(plan) << plan.error().message;
    ASSERT_LE(plan->stages.size(), devices);
    double sum = 0;
    for (const StagePlan &stage : plan->stages) {
      double seconds = 0;
      for (int64_t layer : stage.layers)
        seconds += row["weights"][size_t(layer)].get<double>();
      slowest = std::max(slowest, seconds);
      sum += seconds;
    }
    EXPECT_EQ(sum, all);
    for (const char *other :
         {"partition_balance_max", "partition_stages_max"}) {
      EXPECT_LE(slowest, row[other]) << row.dump();
      ++(slowest < row[other].get<double>() ? beaten : met);
    }
  }
  EXPECT_EQ(met + beaten, 96);
  std::printf("EPL's partitions: %d met, %d beaten\n", met, beaten);
}

/// The order of EPL's policy: some forwards ahead, then backwards and forwards
/// in turn.
static Schedule orderOf(const std::string &policy, int64_t stages,
                        int64_t microbatches) {
  Schedule schedule{"epl", stages, microbatches, {}};
  for (int64_t s = 0; s < stages; ++s) {
    bool isLast = s == stages - 1;
    int64_t ahead = policy == "PreferForward" ? microbatches : stages - s;
    if (policy == "PreferBackwardOptimizer" && !isLast)
      ++ahead;
    Order &order = schedule.ranks.emplace_back();
    for (int64_t m = 0; m < microbatches + ahead; ++m) {
      if (m >= ahead)
        order.push_back({ActionKind::Backward, s, m - ahead});
      if (m < microbatches)
        order.push_back({ActionKind::Forward, s, m});
    }
    std::erase_if(order, [&](const Action &action) {
      return action.microbatch >= microbatches;
    });
  }
  return schedule;
}

/// The first control edge that `schedule` violates, as text; else empty.
static std::string violated(const Schedule &schedule, const json &edges) {
  std::map<std::string, size_t> places; // "F0.1": stage 0, microbatch 1.
  for (const Order &order : schedule.ranks)
    for (size_t i = 0; i < order.size(); ++i)
      places[std::string(1, char(order[i].kind)) +
             std::to_string(order[i].stage) + "." +
             std::to_string(order[i].microbatch)] = i;
  for (const json &edge : edges)
    if (!(places.at(edge[0]) < places.at(edge[1])))
      return edge.dump();
  return "";
}

TEST(Epl, OrdersAreThoseOfItsControlEdges) {
  int same = 0;
  for (const json &row :
       json::parse(sharedText("epl/scheduler_control_edges.json"))) {
    std::string policy = row["policy"];
    int64_t stages = row["stages"], microbatches = row["micro_batches"];
    EXPECT_EQ(
        violated(orderOf(policy, stages, microbatches), row["control_edges"]),
        "")
        << policy << " " << stages << " " << microbatches;
    if (policy == "PreferBackwardOptimizer")
      continue;
    ScheduleShape shape{stages, microbatches};
    Result<Schedule> ours = policy == "PreferForward" ? generateGPipe(shape)
                                                      : generateOneFOneB(shape);
    ASSERT_TRUE(ours);
    EXPECT_EQ(violated(*ours, row["control_edges"]), "")
        << policy << " " << stages << " " << microbatches;
    ++same;
  }
  EXPECT_EQ(same, 20);
}

/// For each of the 30 shapes and policies, without hops and with hops of half a
/// forward: some order of ours takes no longer, and holds no more microbatches
/// where there are no hops.
TEST(Epl, TimesOfItsOrdersAreMetOrBeaten) {
  int met = 0, beaten = 0;
  for (const json &row :
       json::parse(sharedText("epl/scheduler_control_edges.json")))
    for (double hop : {0.0, 0.5}) {
      ScheduleShape shape{row["stages"], row["micro_batches"]};
      shape.hopRatio = hop;
      ScheduleProblem problem =
          equalStages(Placement::Linear, shape, {1, 1, 1, hop});
      Timeline theirs = *timeSchedule(
          orderOf(row["policy"], shape.ranks, shape.microbatches), problem);
      double least = std::numeric_limits<double>::infinity();
      for (auto *generate : {generateGPipe, generateOneFOneB,
                             generateEagerOneFOneB, generateEarlyBackward}) {
        Timeline ours = *timeSchedule(*generate(shape), problem);
        bool fits = true;
        for (size_t r = 0; r < ours.peaks.size(); ++r)
          fits &= ours.peaks[r] <= theirs.peaks[r];
        if (hop > 0 || fits)
          least = std::min(least, ours.makespan.value);
      }
      EXPECT_LE(least, theirs.makespan.value * (1 + 1e-12))
          << row["policy"] << " " << shape.ranks << " " << shape.microbatches
          << " hop " << hop;
      ++(least < theirs.makespan.value * (1 - 1e-12) ? beaten : met);
    }
  EXPECT_EQ(met + beaten, 60);
  std::printf("EPL's orders: %d met, %d beaten\n", met, beaten);
}
