//===- AlpaTest.cpp - Alpa's dynamic program over stages ------------------===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "stagewright/Planning/Baselines/Alpa.h"
#include "PrototypeRows.h"
#include "stagewright/Planning/Baselines/Baselines.h"
#include <cmath>
#include <map>
#include <random>

using namespace stagewright;
using namespace stagewright::testing;

namespace {

/// Random costs; some stages are infeasible, some limit the stages after them.
struct RandomTable {
  RandomTable(std::mt19937_64 &random, bool withMemory) {
    input.layers = 1 + random() % 6;
    input.microbatches = 1 + int64_t(random() % 12);
    int64_t hosts = 1 + int64_t(random() % 3), perHost = 1 << random() % 3;
    input.devices = hosts * perHost;
    input.meshes = alpaMeshes(hosts, perHost);
    for (size_t first = 0; first < input.layers; ++first)
      for (size_t end = first + 1; end <= input.layers; ++end)
        for (size_t mesh = 0; mesh < input.meshes.size(); ++mesh) {
          std::tuple key(first, end, mesh);
          times[key] = random() % 8 ? double(1 + random() % 40) : INFINITY;
          behind[key] = withMemory ? int64_t(random() % 4) - 1 : 64;
        }
    input.time = [this](size_t first, size_t end, size_t mesh) {
      return times[{first, end, mesh}];
    };
    input.mostBehind = [this](size_t first, size_t end, size_t mesh) {
      return behind[{first, end, mesh}];
    };
  }
  RandomTable(const RandomTable &) = delete;

  /// The optimum over all cuts and meshes.
  double exhaustive() {
    double best = INFINITY;
    std::vector<std::tuple<size_t, size_t, size_t>> stages;
    std::function<void(size_t, int64_t)> extend = [&](size_t first,
                                                      int64_t devices) {
      if (first == input.layers) {
        if (devices == 0)
          best = std::min(best, timeOf(stages));
        return;
      }
      for (size_t mesh = 0; mesh < input.meshes.size(); ++mesh)
        for (size_t end = first + 1; end <= input.layers; ++end)
          if (input.meshes[mesh].size() <= devices) {
            stages.emplace_back(first, end, mesh);
            extend(end, devices - input.meshes[mesh].size());
            stages.pop_back();
          }
    };
    extend(0, input.devices);
    return best;
  }

  AlpaInput input;

private:
  using Key = std::tuple<size_t, size_t, size_t>;
  double timeOf(const std::vector<Key> &stages) {
    if (input.stages && size_t(input.stages) != stages.size())
      return INFINITY;
    double sum = 0, most = 0;
    for (size_t i = 0; i < stages.size(); ++i) {
      if (int64_t(stages.size() - i) - 1 > behind[stages[i]])
        return INFINITY;
      sum += times[stages[i]];
      most = std::max(most, times[stages[i]]);
    }
    return sum + double(input.microbatches - 1) * most;
  }
  std::map<Key, double> times;
  std::map<Key, int64_t> behind;
};

} // namespace

TEST(Alpa, MeshesAreThoseThatTile) {
  std::vector<std::pair<int64_t, int64_t>> shapes;
  for (const AlpaMesh &mesh : alpaMeshes(3, 8))
    shapes.emplace_back(mesh.hosts, mesh.devices);
  EXPECT_EQ(shapes, (std::vector<std::pair<int64_t, int64_t>>{
                        {1, 1}, {1, 2}, {1, 4}, {1, 8}, {2, 8}, {3, 8}}));
}

TEST(Alpa, EqualsExhaustiveSearch) {
  constexpr uint64_t kSeed = 42;
  SCOPED_TRACE("seed " + std::to_string(kSeed));
  std::mt19937_64 random(kSeed);
  int solved = 0;
  for (int round = 0; round < 1500; ++round) {
    RandomTable table(random, round % 3 == 0);
    if (round % 5 == 0)
      table.input.stages = 1 + int64_t(random() % 3);
    double best = table.exhaustive();
    Result<AlpaAnswer> answer = solveAlpa(table.input);
    ASSERT_EQ(bool(answer), best < INFINITY) << "round " << round;
    if (!answer)
      continue;
    EXPECT_DOUBLE_EQ(answer->time, best) << "round " << round;
    ++solved;
  }
  EXPECT_GT(solved, 700);
}

TEST(Alpa, PlansTheProblemsOfThePrototype) {
  for (const PrototypeRow &row : prototypeRows()) {
    if (row.model == "gnmt16" || row.config == "B")
      continue; // 96 layers take a second each to plan.
    SCOPED_TRACE(row.model + " on " + row.config);
    Problem problem = prototypeProblem(row);
    Result<Plan> plan = planAlpa(problem);
    ASSERT_TRUE(plan) << plan.error().message;
    EXPECT_TRUE(verify(problem, *plan));
    size_t devices = 0;
    for (const StagePlan &stage : plan->stages) {
      devices += stage.devices.size();
      // Devices of a mesh smaller than a host are on one host.
      if (stage.devices.size() < 8 && row.config == "A") {
        EXPECT_EQ(stage.devices.front() / 8, stage.devices.back() / 8);
      }
    }
    EXPECT_EQ(devices, 16u);
    // Alpa's formula omits transfers, so it exceeds the simulated time by at
    // most the all-reduce, which it spreads over the microbatches.
    EXPECT_LE(plan->value, plan->time.value * 1.2);
  }
}

TEST(Alpa, OtherHostsCountAsSingleDevices) {
  Problem problem = sharedProfile("chains/bert48.chain", "chain");
  problem.microbatches = 8;
  ASSERT_TRUE(placeOn(problem, hostsOf({3, 2, 1}, 25e9, 3e9)));
  Result<Plan> plan = planAlpa(problem);
  ASSERT_TRUE(plan) << plan.error().message;
  EXPECT_TRUE(verify(problem, *plan));
  problem.maxReplicas = 1;
  plan = planAlpa(problem);
  ASSERT_TRUE(plan) << plan.error().message;
  EXPECT_EQ(plan->stages.size(), 6u);
}

TEST(Alpa, MemoryLimitsTheStagesBehind) {
  Problem problem = sharedProfile("chains/bert48.chain", "chain");
  problem.microbatches = 8;
  Cluster cluster = hostsOf({4}, 25e9, 25e9);
  for (Device &device : cluster.devices)
    device.memory = Bytes(1000);
  ASSERT_TRUE(placeOn(problem, cluster));
  Result<Plan> plan = planAlpa(problem);
  ASSERT_FALSE(plan);
  EXPECT_NE(plan.error().message.find("fit in memory"), std::string::npos);
}
