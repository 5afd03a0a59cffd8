//===- PiperErrorsTest.cpp - reading Piper instances ----------------------===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "stagewright/Planning/Baselines/Formats.h"
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

using namespace stagewright;
using nlohmann::json;

namespace {

json way(const char *id, double seconds, double parameters, double each,
         double fixed) {
  return {{"id", id},
          {"timePerSample", seconds},
          {"parameterSize", parameters},
          {"memoryUsageA", each},
          {"memoryUsageB", fixed},
          {"syncTimeFw", json::object()},
          {"syncTimeBw", json::object()}};
}

/// Node 7 precedes node 3: the first node in the file is the last of the graph.
json instance() {
  json last = {{"id", 3},
               {"name", "head"},
               {"TMPCs",
                {{"1",
                  {way("vanilla", 6, 40, 30, 100),
                   way("activation recomp", 8, 40, 10, 130)}}}}};
  json first = {{"id", 7},
                {"TMPCs",
                 {{"16", {way("vanilla", 1, 1, 5, 2)}},
                  {"2", {way("vanilla", 2, 5, 15, 10)}},
                  {"1", {way("vanilla", 3, 10, 20, 20)}}}}};
  for (auto &[ways, list] : first["TMPCs"].items())
    list[0]["syncTimeBw"]["3"] = ways == "1" ? 0 : 9;
  for (json &entry : last["TMPCs"]["1"])
    entry["syncTimeFw"]["7"] = 0;
  return {{"maxMemoryPerDevice", 1000.0},
          {"maxDevices", 3},
          {"bandwidth", 10.0},
          {"mbsInBatch", 4},
          {"nodes", {last, first}},
          {"edges",
           {{{"sourceId", 7}, {"destId", 3}, {"communicationCost", 12.0}}}}};
}

TEST(PiperFormat, LayersEdgesAndCluster) {
  Result<Problem> problem = readPiper(instance().dump(), "p.json");
  ASSERT_TRUE(problem) << problem.error().message;
  ASSERT_TRUE(problem->check());
  EXPECT_EQ(problem->cluster.devices.size(), 3u);
  EXPECT_EQ(problem->cluster.devices[0].memory.value, 1000);
  EXPECT_EQ(problem->microbatches, 4);
  ASSERT_EQ(problem->layers.size(), 2u);
  EXPECT_EQ(problem->layers[0].name, "node7");
  EXPECT_EQ(problem->layers[1].name, "node3 head");
  // Alternatives are sorted by the number of ways, not by its text.
  const std::vector<Alternative> &ways = problem->layers[0].alternatives;
  ASSERT_EQ(ways.size(), 3u);
  EXPECT_EQ(ways[1].ways, 2);
  EXPECT_EQ(ways[2].ways, 16);
  EXPECT_EQ(ways[2].syncOut.at(1), 9);
  // The forward takes the 2 s that recomputation adds, or if there is none, a
  // third of the 3 s.
  EXPECT_DOUBLE_EQ(problem->layers[1].times[0].forward.value, 2);
  EXPECT_DOUBLE_EQ(problem->layers[1].times[0].inputGradient.value, 4);
  EXPECT_DOUBLE_EQ(problem->layers[0].times[0].forward.value, 1);
  EXPECT_TRUE(problem->layers[1].alternatives[1].recompute);
}

void expectError(const json &instance, const std::string &message) {
  Result<Problem> problem = readPiper(instance.dump(), "p.json");
  ASSERT_FALSE(problem) << "expected: " << message;
  EXPECT_EQ(problem.error().message, message);
}

TEST(PiperFormat, WrongGraphs) {
  json wrong = instance();
  wrong["edges"][0]["destId"] = 5;
  expectError(wrong, "p.json: entry 0 of 'edges' from 7 to 5 names node 5, "
                     "which 'nodes' does not have");
  wrong = instance();
  wrong["edges"].push_back(wrong["edges"][0]);
  expectError(wrong, "p.json: entry 1 of 'edges' is a second edge from 7 to 3");
  wrong = instance();
  wrong["nodes"][1]["id"] = 3;
  expectError(wrong, "p.json: entry 1 of 'nodes' has the id 3 of entry 0");
  wrong = instance();
  wrong["nodes"] = json::array();
  expectError(wrong, "p.json: field 'nodes' is empty");
  wrong = instance();
  wrong["nodes"][0].erase("id");
  expectError(wrong, "p.json: entry 0 of 'nodes' has no field 'id'");

  wrong = instance();
  wrong["edges"].push_back(
      {{"sourceId", 3}, {"destId", 7}, {"communicationCost", 1.0}});
  for (json &entry : wrong["nodes"][0]["TMPCs"]["1"])
    entry["syncTimeBw"]["7"] = 0;
  for (auto &[ways, list] : wrong["nodes"][1]["TMPCs"].items())
    list[0]["syncTimeFw"]["3"] = 0;
  expectError(wrong,
              "p.json: the edges form a cycle; node 3 is on it or reachable "
              "from it, but a pipeline needs a graph without cycles");
}

TEST(PiperFormat, WrongCosts) {
  const char *place = "p.json: node 3: entry 0 of 'TMPCs' for 1";
  json wrong = instance();
  json &entry = wrong["nodes"][0]["TMPCs"]["1"][0];
  entry["timePerSample"] = -1.5;
  expectError(wrong, std::string(place) +
                         ": field 'timePerSample' must be from 0 to "
                         "281474976710656, got -1.5");
  // dump() writes null for a NaN.
  entry["timePerSample"] = nullptr;
  expectError(wrong, std::string(place) +
                         ": field 'timePerSample' must be a number, got null");
  entry["timePerSample"] = 6;
  entry["memoryUsageA"] = 1e300;
  expectError(wrong, std::string(place) +
                         ": field 'memoryUsageA' must be from 0 to "
                         "281474976710656, got 1e+300");
  entry["memoryUsageA"] = 1;
  entry["syncTimeFw"] = json::object();
  expectError(wrong, std::string(place) +
                         ": field 'syncTimeFw' lacks the edge from node 7");
  entry["syncTimeFw"] = {{"7", 0}, {"x", 0}};
  expectError(wrong, std::string(place) +
                         ": field 'syncTimeFw' names 'x', which is not a node "
                         "that an edge comes from");
  EXPECT_EQ(readPiper("{\n\"maxDevices\": NaN}", "p.json").error().message,
            "p.json:2: a cost is NaN, which JSON does not know; costs must be "
            "finite numbers of at least 0");
}

TEST(PiperFormat, WrongRequests) {
  json wrong = instance();
  wrong["maxDevices"] = 0;
  expectError(wrong,
              "p.json: field 'maxDevices' must be from 1 to 10000, got 0");
  wrong = instance();
  wrong["bandwidth"] = "fast";
  expectError(wrong,
              "p.json: field 'bandwidth' must be a number, got \"fast\"");
  wrong = instance();
  wrong["nodes"][1]["TMPCs"].erase("1");
  expectError(wrong,
              "p.json: node 7 cannot run on one device; give 'TMPCs' for 1");
  wrong = instance();
  wrong["nodes"][1]["TMPCs"]["two"] = json::array();
  expectError(wrong, "p.json: node 7: field 'TMPCs' must map numbers of "
                     "devices to lists, got 'two': []");
  wrong = instance();
  wrong["nodes"][1]["TMPCs"] = 4;
  expectError(wrong, "p.json: node 7: field 'TMPCs' must be an object, got 4");
}

} // namespace
