//===- PipelinePrototypeTest.cpp - the 20 plans of the prototype ----------===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// golden/spp_prototype.csv has plans and their makespans in five orders,
// computed by an independent program. The pipelines are built here by
// the model of docs/planner.md, so that only the simulator is tested, and not
// the planner or the cost model.
//
//===----------------------------------------------------------------------===//

#include "PipelineModels.h"
#include <fstream>
#include <gtest/gtest.h>
#include <sstream>

using namespace stagewright;

namespace {

struct LayerRow {
  double forward, backward, cutBytes, parameterBytes;
};

/// Servers with equal numbers of devices, which are numbered server by server.
struct Servers {
  size_t devices;
  double inside, nic;

  double beta(size_t a, size_t b) const {
    return a / devices == b / devices ? inside : nic;
  }
};

struct StageRow {
  size_t first, end, device, replicas;
};

} // namespace

static std::vector<LayerRow> readChain(const std::string &name) {
  std::ifstream file(STAGEWRIGHT_SHARED "/data/chains/" + name + ".chain");
  EXPECT_TRUE(file) << name;
  std::vector<LayerRow> layers;
  for (std::string line; std::getline(file, line);) {
    std::istringstream row(line);
    LayerRow layer;
    if (row >> layer.forward >> layer.backward >> layer.cutBytes >>
        layer.parameterBytes)
      layers.push_back(layer);
  }
  return layers;
}

static Servers serversOf(const std::string &config) {
  if (config == "A")
    return {8, 25e9, 3.125e9};
  if (config == "P4")
    return {4, 10e9, 1.25e9};
  return {1, 25e9, config == "B" ? 3.125e9 : 1.25e9};
}

/// Parses a plan such as "[0,19)x15 [19,26)x1".
static std::vector<StageRow> parsePlan(const std::string &text) {
  std::istringstream plan(text);
  std::vector<StageRow> stages;
  StageRow stage{};
  for (char c; plan >> c >> stage.first >> c >> stage.end >> c >> c >>
               stage.replicas;) {
    stages.push_back(stage);
    stage.device += stage.replicas;
  }
  return stages;
}

/// The time of the slowest sender, receiver or NIC between two stages.
static double channelTime(const Servers &servers, const StageRow &from,
                          const StageRow &to, double bytes) {
  double pair = bytes / double(from.replicas * to.replicas), slowest = 0;
  std::vector<double> sent(16), received(16), out(16), in(16);
  for (size_t u = from.device; u < from.device + from.replicas; ++u)
    for (size_t v = to.device; v < to.device + to.replicas; ++v) {
      sent[u] += pair / servers.beta(u, v);
      received[v] += pair / servers.beta(u, v);
      if (u / servers.devices == v / servers.devices)
        continue;
      out[u / servers.devices] += pair / servers.nic;
      in[v / servers.devices] += pair / servers.nic;
    }
  for (const auto &times : {sent, received, out, in})
    slowest = std::max(slowest, *std::max_element(times.begin(), times.end()));
  return slowest;
}

static double allReduceTime(const Servers &servers, const StageRow &stage,
                            double bytes) {
  double slowest =
      servers.beta(stage.device, stage.device + stage.replicas - 1);
  auto replicas = double(stage.replicas);
  return stage.replicas == 1 ? 0
                             : 2 * (replicas - 1) / replicas * bytes / slowest;
}

static PipelineModel pipelineOf(const std::vector<LayerRow> &layers,
                                const std::vector<StageRow> &stages,
                                const Servers &servers, int64_t microbatches) {
  std::vector<double> forward, backward, channels, tails;
  for (size_t n = 0; n < stages.size(); ++n) {
    LayerRow sum{};
    for (size_t l = stages[n].first; l < stages[n].end; ++l) {
      sum.forward += layers[l].forward / double(stages[n].replicas);
      sum.backward += layers[l].backward / double(stages[n].replicas);
      sum.parameterBytes += layers[l].parameterBytes;
    }
    forward.push_back(sum.forward);
    backward.push_back(sum.backward);
    tails.push_back(allReduceTime(servers, stages[n], sum.parameterBytes));
    if (n + 1 < stages.size())
      channels.push_back(channelTime(servers, stages[n], stages[n + 1],
                                     layers[stages[n].end - 1].cutBytes));
  }
  PipelineModel model = chainModel(forward, backward, channels, microbatches);
  for (size_t n = 0; n < stages.size(); ++n)
    model.stages[n].tail = Seconds(tails[n]);
  return model;
}

TEST(PipelinePrototype, TakesWhatTheFileSays) {
  std::ifstream file(STAGEWRIGHT_SHARED "/data/golden/spp_prototype.csv");
  ASSERT_TRUE(file);
  std::string line;
  std::getline(file, line);
  ASSERT_EQ(line, "model,cfg,M,T_spp_all,S,sched,T_window,T_greedy,T_KA,T_KB,"
                  "T_gpipe,dappleL,W,upper_bound_loose,plan");
  size_t rows = 0;
  for (; std::getline(file, line); ++rows) {
    SCOPED_TRACE(line);
    std::string plan = line.substr(line.find('"') + 1);
    std::istringstream row(line);
    std::vector<std::string> fields;
    for (std::string field; fields.size() < 11 && getline(row, field, ',');)
      fields.push_back(field);
    PipelineModel model = pipelineOf(
        readChain(fields[0]), parsePlan(plan.substr(0, plan.find('"'))),
        serversOf(fields[1]), std::stol(fields[2]));
    ASSERT_EQ(model.stages.size(), std::stoul(fields[4]));
    const ExecutionOrder orders[] = {
        ExecutionOrder::Window, ExecutionOrder::Greedy, ExecutionOrder::CapA,
        ExecutionOrder::EarlyBackward, ExecutionOrder::GPipe};
    // The file has six decimals: half a unit of the last, plus rounding errors.
    for (size_t n = 0; n < 5; ++n)
      EXPECT_NEAR(makespanOf(model, orders[n]).value, std::stod(fields[6 + n]),
                  6e-7)
          << toString(orders[n]);
  }
  EXPECT_EQ(rows, 20u);
}
