//===- DataflowTest.cpp - placements of tasks on machines -----------------===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "stagewright/Planning/Dataflow.h"
#include "../Builds.h"
#include "../Random.h"
#include <gtest/gtest.h>

using namespace stagewright;
using namespace stagewright::testing;

namespace {

/// A store on each of two machines, and two samplers, a worker and a server
/// that may be anywhere; slots for some of them.
Dataflow randomDataflow(Draw &draw) {
  Dataflow dataflow;
  auto machines = size_t(draw.whole(2, 3));
  for (size_t m = 0; m < machines; ++m) {
    Bandwidth rate(draw.real(10, 50));
    dataflow.machines.push_back({"m" + std::to_string(m),
                                 {double(draw.whole(1, 2)), 1, 3},
                                 rate,
                                 rate});
  }
  auto add = [&](const std::string &name, TaskSlots slots, double seconds) {
    dataflow.tasks.push_back({name, slots, Seconds(seconds)});
  };
  for (size_t store : {0, 1}) {
    add("store" + std::to_string(store), {0, 0, 1}, 0.01);
    dataflow.tasks.back().machine = store;
  }
  for (const char *name : {"sampler0", "sampler1"})
    add(name, {1, 0, 1}, draw.real(0.1, 1));
  add("worker", {0, 1, 1}, draw.real(0.5, 2));
  add("server", {0, 0, 1}, draw.real(0.01, 0.2));
  for (size_t sampler : {2, 3}) {
    for (size_t store : {0, 1})
      dataflow.edges.push_back({store, sampler, Bytes(draw.whole(1, 40)), 0});
    dataflow.edges.push_back({sampler, 4, Bytes(draw.whole(1, 40)), 0});
  }
  dataflow.edges.push_back({4, 5, Bytes(20), 0});
  dataflow.edges.push_back({5, 4, Bytes(20), 1});
  dataflow.iterations = 4;
  return dataflow;
}

double timeOf(const Dataflow &dataflow, const TaskPlacement &placement) {
  Result<PlacedDataflow> placed =
      evaluatePlacement(dataflow, placement, LinkSharing::Oes);
  return placed ? placed->certificate.makespan.value
                : std::numeric_limits<double>::infinity();
}

/// The least time of all placements that fit.
double optimum(const Dataflow &dataflow) {
  double best = std::numeric_limits<double>::infinity();
  TaskPlacement placement(dataflow.tasks.size(), 0);
  for (;;) {
    best = std::min(best, timeOf(dataflow, placement));
    size_t task = 0;
    while (task < placement.size() &&
           ++placement[task] == dataflow.machines.size())
      placement[task++] = 0;
    if (task == placement.size())
      return best;
  }
}

PlacedDataflow explored(const Dataflow &dataflow, int64_t evaluations,
                        uint64_t seed) {
  SearchOptions options;
  options.evaluations = evaluations;
  options.seed = seed;
  Result<PlacedDataflow> placed =
      explorePlacements(dataflow, LinkSharing::Oes, {"anneal"}, options);
  EXPECT_TRUE(placed.ok());
  return *placed;
}

TEST(Dataflow, ExplorationIsNearTheOptimumOfAllPlacements) {
  constexpr int kInstances = kPart == 1 ? 50 : 5;
  Draw draw(1);
  int feasible = 0;
  for (int i = 0; i < kInstances; ++i) {
    Dataflow dataflow = randomDataflow(draw);
    ASSERT_TRUE(dataflow.check().ok());
    dataflow.tasks[0].machine = dataflow.tasks[1].machine = {};
    double best = optimum(dataflow);
    if (std::isinf(best))
      continue;
    ++feasible;
    double time = explored(dataflow, 300, 1).certificate.makespan.value;
    EXPECT_LE(time, 1.03 * best) << "instance " << i;
    EXPECT_GE(time, best * (1 - 1e-12));
  }
  EXPECT_GE(feasible, kInstances * 3 / 5);
}

TEST(Dataflow, ExplorationIsNeverWorseThanItsSeeds) {
  Draw draw(2);
  for (int i = 0; i < 30; ++i) {
    Dataflow dataflow = randomDataflow(draw);
    double seeds = std::min(timeOf(dataflow, colocate(dataflow)),
                            timeOf(dataflow, spread(dataflow)));
    if (std::isinf(seeds))
      continue;
    for (int64_t evaluations : {2, 10}) {
      double time =
          explored(dataflow, evaluations, 7).certificate.makespan.value;
      EXPECT_LE(time, seeds * (1 + 1e-12)) << "instance " << i;
    }
  }
}

TEST(Dataflow, EqualSeedsGiveEqualPlacements) {
  Draw draw(3);
  for (int i = 0; i < 10; ++i) {
    Dataflow dataflow = randomDataflow(draw);
    if (std::isinf(timeOf(dataflow, colocate(dataflow))))
      continue;
    EXPECT_EQ(explored(dataflow, 15, 5).machines,
              explored(dataflow, 15, 5).machines);
  }
}

/// Tasks x and y read 20 and 30 bytes from a store. A task on the same machine
/// as the store needs no transfer; for others the NIC carries 10 bytes per
/// second.
TEST(Dataflow, ColocatesWithBytesAndSpreadsInTurn) {
  Dataflow dataflow;
  for (const char *name : {"a", "b"})
    dataflow.machines.push_back(
        {name, {2, 0, 0}, Bandwidth(10), Bandwidth(10)});
  for (const char *name : {"store", "x", "y", "z"})
    dataflow.tasks.push_back({name, {1, 0, 0}, Seconds(1)});
  dataflow.tasks[0].machine = 1;
  dataflow.edges = {{0, 2, Bytes(30), 0}, {0, 1, Bytes(20), 0}};
  // x takes the last core of that machine, which would save y more.
  EXPECT_EQ(colocate(dataflow), (TaskPlacement{1, 1, 0, 0}));
  EXPECT_EQ(spread(dataflow), (TaskPlacement{1, 1, 0, 0}));
  EXPECT_DOUBLE_EQ(timeOf(dataflow, {1, 1, 0, 0}), 1 + 3 + 1);
  EXPECT_DOUBLE_EQ(timeOf(dataflow, {1, 0, 1, 0}), 1 + 2 + 1);
  PlacedDataflow best = explored(dataflow, 10, 1);
  EXPECT_EQ(best.machines, (TaskPlacement{1, 0, 1, 0}));
  EXPECT_EQ(best.certificate.degree, 1u);
}

std::string errorOf(const std::string &text) {
  Result<Dataflow> dataflow = readDataflow(text, "d.json");
  return dataflow ? "" : dataflow.error().message;
}

std::string withTasks(const std::string &tasks, const std::string &edges) {
  return R"({"iterations": 2, "machines": [{"name": "a", "cores": 1, "out": 9,
            "in": 9}], "tasks": [)" +
         tasks + R"(], "edges": [)" + edges + "]}";
}

TEST(Dataflow, SortsTasksAndReadsPlacements) {
  std::string tasks = R"({"name": "w", "seconds": 1}, {"name": "s",
                         "seconds": 2, "machine": "a"})";
  Result<Dataflow> dataflow =
      readDataflow(withTasks(tasks, R"({"from": "s", "to": "w", "bytes": 5},
                          {"from": "w", "to": "s", "bytes": 6,
                           "distance": 1})"),
                   "d.json");
  ASSERT_TRUE(dataflow.ok());
  EXPECT_EQ(dataflow->tasks[0].name, "s");
  EXPECT_EQ(dataflow->edges[0].from, 0u);
  EXPECT_EQ(dataflow->edges[1].from, 1u);
  Result<PlacedDataflow> placed =
      evaluatePlacement(*dataflow, {0, 0}, LinkSharing::Fair);
  ASSERT_TRUE(placed.ok());
  EXPECT_DOUBLE_EQ(placed->certificate.makespan.value, 6); // 2 x (2 + 1).
  Result<TaskPlacement> again = readPlacement(
      *dataflow, placementToJson(*dataflow, *placed, LinkSharing::Fair), "p");
  ASSERT_TRUE(again.ok());
  EXPECT_EQ(*again, placed->machines);
  EXPECT_EQ(readPlacement(*dataflow, R"({"placement": {"s": "a"}})", "p.json")
                .error()
                .message,
            "p.json: 'placement' gives task 'w' no machine");
  EXPECT_EQ(
      readPlacement(*dataflow, R"({"placement": {"s": "b"}})", "p.json")
          .error()
          .message,
      "p.json: task 's' is on machine 'b', which the dataflow does not have");
}

TEST(Dataflow, NamesWhatIsWrong) {
  std::string task = R"({"name": "t", "seconds": 1})";
  EXPECT_EQ(errorOf("[]"),
            "d.json: expected an object with 'machines', 'tasks' and 'edges'");
  EXPECT_EQ(errorOf(withTasks(task + "," + task, "")),
            "d.json: two tasks are called 't'; give each its own name");
  EXPECT_EQ(errorOf(withTasks(task, R"({"from": "t", "to": "u", "bytes": 1})")),
            "d.json: edge 't' to 'u': there is no task 'u'; add it to 'tasks'");
  EXPECT_EQ(errorOf(withTasks(task, R"({"from": "t", "to": "t", "bytes": 1})")),
            "d.json: tasks wait for each other in one iteration, among 't'; "
            "give an edge that leads to a later iteration its 'distance'");
  EXPECT_EQ(
      errorOf(withTasks(
          R"({"name": "t", "seconds": 1, "cores": 2, "memory": 1024})", "")),
      "d.json: task 't' fits on no machine: it needs 2 cores, 0 GPUs and "
      "1.0 KiB");
  EXPECT_EQ(errorOf(withTasks(R"({"name": "t", "seconds": -1})", "")),
            "d.json: the time of task 't' is -1; expected a number of 0 or "
            "more, at most 281474976710656");
  EXPECT_EQ(errorOf(withTasks("3", "")),
            "d.json: 'tasks' must hold objects, got 3");
  EXPECT_EQ(errorOf(withTasks("", "")),
            "d.json: a dataflow needs at least one machine and one task; it "
            "has 1 and 0");
}

TEST(Dataflow, RefusesPlacementsThatDoNotFit) {
  Dataflow dataflow;
  for (const char *name : {"a", "b"})
    dataflow.machines.push_back({name, {1, 0, 0}, Bandwidth(9), Bandwidth(9)});
  for (const char *name : {"x", "y"})
    dataflow.tasks.push_back({name, {1, 0, 0}, Seconds(1)});
  EXPECT_EQ(checkPlacement(dataflow, {1, 1}).error().message,
            "the tasks on machine 'b' need 2 cores, it has 1");
  dataflow.tasks[0].machine = 0;
  EXPECT_EQ(checkPlacement(dataflow, {1, 0}).error().message,
            "task 'x' may only be on machine 'a', and is placed on 'b'");
}

} // namespace
