//===- DnnPartitioningTest.cpp - reads dnn-partitioning's workloads -------===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "stagewright/Planning/Baselines/Formats.h"
#include <fstream>
#include <functional>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>
#include <sstream>

using namespace stagewright;

namespace {

std::string readShared(const std::string &path) {
  std::ifstream stream(std::string(STAGEWRIGHT_SHARED) + "/data/" + path);
  EXPECT_TRUE(stream) << path << " is missing";
  std::ostringstream text;
  text << stream.rdbuf();
  return text.str();
}

Problem read(const std::string &path) {
  Result<Problem> problem = readDnnPartitioning(readShared(path), path);
  EXPECT_TRUE(problem) << problem.error().message;
  if (!problem)
    return Problem();
  Status status = problem->check();
  EXPECT_TRUE(status) << status.error().message;
  return *problem;
}

/// The value in golden column `column`.
double golden(const std::string &group, const std::string &name,
              const char *column) {
  nlohmann::json all =
      nlohmann::json::parse(readShared("golden/planners.json"));
  return all["dnn_partitioning_max_load"][group][name][column];
}

double seconds(const Problem &problem, size_t deviceClass) {
  double sum = 0;
  for (const Layer &layer : problem.layers)
    sum += layer.times[deviceClass].total().value;
  return sum;
}

TEST(DnnPartitioning, OneDeviceHasTheGoldenLoad) {
  for (const char *name : {"bert24_inference", "bert24_training",
                           "gnmt_inference", "gnmt_training"})
    EXPECT_NEAR(
        seconds(read("dnn-partitioning/layers/" + std::string(name) + ".json"),
                0) /
            golden("layer_graphs", name, "one_device"),
        1, 1e-5)
        << name;
  for (const char *name :
       {"bert_l-3_inference", "bert_l-3_training", "resnet50_inference"})
    EXPECT_NEAR(seconds(read("dnn-partitioning/operators/" + std::string(name) +
                             ".json"),
                        0) /
                    golden("operator_graphs", name, "one_device"),
                1, 1e-5)
        << name;
}

TEST(DnnPartitioning, BringsAcceleratorsAndTheHost) {
  Problem problem = read("dnn-partitioning/layers/gnmt_training.json");
  ASSERT_EQ(problem.cluster.devices.size(), 7u);
  EXPECT_EQ(problem.cluster.classes(),
            (std::vector<std::string>{kProfiledClass, kHostClass}));
  EXPECT_EQ(problem.cluster.devices[0].memory, Bytes(17185374208));
  EXPECT_NEAR(seconds(problem, 1), 10 * 520.453, 1e-6);
  EXPECT_FALSE(problem.forwardOnly);
  EXPECT_TRUE(read("dnn-partitioning/layers/gnmt_inference.json").forwardOnly);
  int64_t bytes = 0;
  for (const Resident &resident : problem.residents)
    bytes += resident.bytes.value;
  EXPECT_EQ(bytes, 4933015040);
}

TEST(DnnPartitioning, LayersAreColourClasses) {
  EXPECT_EQ(read("dnn-partitioning/layers/gnmt_training.json").layers.size(),
            96u);
  // Every node has a class.
  EXPECT_EQ(
      read("dnn-partitioning/operators/resnet50_inference.json").layers.size(),
      176u);
  // 121 classes and 21 nodes without one; cycles merge four of them.
  EXPECT_EQ(
      read("dnn-partitioning/operators/bert_l-3_training.json").layers.size(),
      138u);
}

/// A diamond of four forward nodes and their backward nodes, edited by `edit`.
std::string diamond(const std::function<void(nlohmann::json &)> &edit) {
  nlohmann::json file = {{"maxSizePerFPGA", 100},
                         {"maxFPGAs", 2},
                         {"maxCPUs", 0},
                         {"nodes", nlohmann::json::array()},
                         {"edges", nlohmann::json::array()}};
  for (int id = 0; id < 8; ++id)
    file["nodes"].push_back({{"id", id},
                             {"name", "n" + std::to_string(id)},
                             {"supportedOnFpga", 1},
                             {"cpuLatency", 10},
                             {"fpgaLatency", id < 4 ? 1 : 2},
                             {"isBackwardNode", id >= 4},
                             {"colorClass", id % 4},
                             {"size", 1}});
  for (auto [from, to] : {std::pair(0, 1), {0, 2}, {1, 3}, {2, 3}}) {
    file["edges"].push_back(
        {{"sourceId", from}, {"destId", to}, {"cost", 0.5}, {"size", 8}});
    file["edges"].push_back(
        {{"sourceId", to + 4}, {"destId", from + 4}, {"cost", 0.25}});
  }
  if (edit)
    edit(file);
  return file.dump();
}

TEST(DnnPartitioning, OneValuePerProducerBothWays) {
  Result<Problem> problem = readDnnPartitioning(diamond({}), "diamond.json");
  ASSERT_TRUE(problem) << problem.error().message;
  ASSERT_EQ(problem->layers.size(), 4u);
  EXPECT_EQ(problem->layers[2].name, "n2");
  EXPECT_EQ(problem->layers[2].times.size(), 1u);
  EXPECT_EQ(problem->layers[2].times[0].forward, Seconds(1));
  EXPECT_EQ(problem->layers[2].times[0].inputGradient, Seconds(2));
  // Forward: 0 to 1 and 2, these to 3; backward: 3 to 1 and 2, these to 0.
  ASSERT_EQ(problem->values.size(), 6u);
  const LayerValue &fork = problem->values[0];
  EXPECT_EQ(fork.producer.layer, 0);
  EXPECT_EQ(fork.uses.size(), 2u);
  EXPECT_EQ(fork.bytes, Bytes(8));
  EXPECT_EQ(fork.transfer, Seconds(0.5));
  const LayerValue &back = problem->values[5];
  EXPECT_EQ(back.producer.layer, 3);
  EXPECT_EQ(back.producer.phase, ActionKind::InputGradient);
  EXPECT_EQ(back.uses.size(), 2u);
  EXPECT_EQ(back.transfer, Seconds(0.25));
}

TEST(DnnPartitioning, GradientsDrawnForwardsFlowBackwards) {
  Result<Problem> problem =
      readDnnPartitioning(diamond([](nlohmann::json &file) {
                            for (nlohmann::json &edge : file["edges"])
                              if (edge["sourceId"] >= 4)
                                std::swap(edge["sourceId"], edge["destId"]);
                          }),
                          "diamond.json");
  ASSERT_TRUE(problem) << problem.error().message;
  ASSERT_EQ(problem->values.size(), 6u);
  for (const LayerValue &value : problem->values)
    if (value.producer.phase == ActionKind::InputGradient) {
      for (const LayerPhase &use : value.uses)
        EXPECT_LT(use.layer, value.producer.layer);
    }
}

TEST(DnnPartitioning, BackwardOnlyClassStandsWhereItsMirrorIs) {
  // Node 6 has a class of its own, so it is a layer of its own: after layer 0
  // and before layer 3, the mirror of the edges 7 -> 6 -> 4.
  Result<Problem> problem = readDnnPartitioning(
      diamond([](nlohmann::json &file) { file["nodes"][6]["colorClass"] = 9; }),
      "diamond.json");
  ASSERT_TRUE(problem) << problem.error().message;
  ASSERT_EQ(problem->layers.size(), 5u);
  std::set<std::string> before, after;
  for (const LayerValue &value : problem->values)
    for (const LayerPhase &use : value.uses)
      if (value.transfer == Seconds(0)) {
        before.insert(problem->layers[value.producer.layer].name);
        after.insert(problem->layers[use.layer].name);
      }
  EXPECT_EQ(before, (std::set<std::string>{"n0", "n6"}));
  EXPECT_EQ(after, (std::set<std::string>{"n3", "n6"}));
}

TEST(DnnPartitioning, ClassesOnACycleAreOneLayer) {
  // If 0 and 3 are one class, each path between them makes a cycle: it is
  // merged.
  Result<Problem> problem =
      readDnnPartitioning(diamond([](nlohmann::json &file) {
                            for (int id : {3, 7})
                              file["nodes"][id]["colorClass"] = 0;
                          }),
                          "diamond.json");
  ASSERT_TRUE(problem) << problem.error().message;
  EXPECT_EQ(problem->layers.size(), 1u);
  EXPECT_TRUE(problem->values.empty());
}

TEST(DnnPartitioning, ErrorsNameFileNodeAndField) {
  using json = nlohmann::json;
  struct Case {
    std::function<void(json &)> edit;
    const char *message;
  };
  for (const Case &c : std::vector<Case>{
           {[](json &f) { f["edges"][0]["destId"] = 42; },
            "g.json: edge 0 -> 42 names node 42, which the file does not have"},
           {[](json &f) { f["nodes"][2]["id"] = 1; },
            "g.json: two nodes have the id 1, 'n1' and 'n2'"},
           {[](json &f) { f["nodes"][2]["fpgaLatency"] = -1; },
            "g.json: node 2 ('n2'): field 'fpgaLatency' must be from 0 to "
            "281474976710656, got -1.0"},
           {[](json &f) { f["nodes"][2]["size"] = "much"; },
            "g.json: node 2 ('n2'): field 'size' must be a number, got "
            "\"much\""},
           {[](json &f) { f["nodes"][2]["isBackwardNode"] = 2; },
            "g.json: node 2 ('n2'): field 'isBackwardNode' must be true, "
            "false, 0 or 1, got 2"},
           {[](json &f) { f["nodes"][2]["supportedOnFpga"] = false; },
            "g.json: node 2 ('n2') runs on no accelerator; nodes that only "
            "the host can run are not supported: remove it"},
           {[](json &f) { f["nodes"][2].erase("id"); },
            "g.json: node number 2 has no field 'id'"},
           {[](json &f) { f["nodes"].clear(); }, "g.json has no nodes"},
           {[](json &f) { f.erase("edges"); }, "g.json has no list 'edges'"},
           {[](json &f) { f["edges"][2]["cost"] = -0.5; },
            "g.json: edge 0 -> 2: field 'cost' must be from 0 to "
            "281474976710656, got -0.5"},
           {[](json &f) { f["edges"][2]["cost"] = nullptr; },
            "g.json: edge number 2: field 'cost' must be a number, got null"},
           {[](json &f) { f["edges"][2]["cost"] = 7; },
            "g.json: edge 0 -> 2 costs 7.0, but another edge of node 'n0' "
            "costs 0.5; all edges of a node send one tensor, at one cost"},
           {[](json &f) { f["edges"][0]["sourceId"] = 5; },
            "g.json: edge 5 -> 1 goes from the backward node 'n5' to the "
            "forward node 'n1'; a step runs forward before backward"},
           {[](json &f) { f["maxFPGAs"] = 0; },
            "g.json: field 'maxFPGAs' must be from 1 to 10000, got 0"}}) {
    Result<Problem> problem = readDnnPartitioning(diamond(c.edit), "g.json");
    ASSERT_FALSE(problem) << c.message;
    EXPECT_EQ(problem.error().message, c.message);
  }
}

TEST(DnnPartitioning, ACycleIsAnError) {
  Result<Problem> problem = readDnnPartitioning(
      diamond([](nlohmann::json &file) {
        file["edges"].push_back(
            {{"sourceId", 3}, {"destId", 1}, {"cost", 0.5}});
      }),
      "g.json");
  ASSERT_FALSE(problem);
  EXPECT_EQ(problem.error().message,
            "g.json: the edges form a cycle; node 1 ('n1') is on it or "
            "reachable from it, but a step needs a graph without cycles");
}

TEST(DnnPartitioning, WhatIsNoNumberHasItsLine) {
  std::string text = diamond({});
  text.replace(text.find("\"cost\":0.5"), 10, "\n\"cost\":NaN");
  Result<Problem> problem = readDnnPartitioning(text, "g.json");
  ASSERT_FALSE(problem);
  EXPECT_EQ(problem.error().message,
            "g.json:2: a cost is NaN, which JSON does not know; costs must be "
            "finite numbers of at least 0");
}

TEST(DnnPartitioning, GoesOnAnotherCluster) {
  Problem problem = read("dnn-partitioning/layers/gnmt_training.json");
  Result<Cluster> cluster = localCluster(4);
  ASSERT_TRUE(cluster);
  Status status = placeOn(problem, *cluster);
  ASSERT_TRUE(status) << status.error().message;
  EXPECT_TRUE(problem.check());
  EXPECT_NEAR(seconds(problem, 0), 520.453, 1e-6);
}

} // namespace
