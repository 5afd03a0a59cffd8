//===- ProfileTest.cpp - profiles to graphs and back ----------------------===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "stagewright/Target/Profile.h"
#include "mlir/IR/MLIRContext.h"
#include "mlir/IR/Verifier.h"
#include "mlir/Parser/Parser.h"
#include "stagewright/Analysis/GraphProblem.h"
#include "stagewright/Planning/Baselines/Formats.h"
#include <fstream>
#include <gtest/gtest.h>
#include <sstream>

using namespace stagewright;

namespace {

Problem readShared(const std::string &path, const char *format) {
  std::ifstream stream(std::string(STAGEWRIGHT_SHARED) + "/data/" + path);
  EXPECT_TRUE(stream) << path << " is missing";
  std::ostringstream text;
  text << stream.rdbuf();
  Result<Problem> problem = findProfileFormat(format)->read(text.str(), path);
  EXPECT_TRUE(problem) << problem.error().message;
  return problem ? *problem : Problem();
}

/// All facts of a problem except names, as sorted lines of text.
std::vector<std::string> factsOf(const Problem &problem) {
  std::vector<std::string> facts;
  auto add = [&](auto &&...parts) {
    std::ostringstream text;
    text.precision(17);
    ((text << parts << " "), ...);
    facts.push_back(text.str());
  };
  auto place = [](const LayerPhase &at) {
    return std::to_string(at.layer) + char(at.phase);
  };
  for (const stagewright::LayerValue &value : problem.values) {
    std::vector<std::string> uses;
    for (const LayerPhase &use : value.uses)
      uses.push_back(place(use));
    std::sort(uses.begin(), uses.end());
    std::string all;
    for (const std::string &use : uses)
      all += use + ",";
    if (!uses.empty())
      add("value", value.bytes.value, place(value.producer), all,
          value.transfer.value_or(Seconds(-1)).value);
  }
  for (const Resident &resident : problem.residents)
    for (int64_t layer : resident.layers)
      add("resident", resident.bytes.value, int(resident.kind), layer);
  for (size_t l = 0; l < problem.layers.size(); ++l) {
    const Layer &layer = problem.layers[l];
    for (const StageTimes &times : layer.times)
      add("layer", l, layer.sliceable, times.forward.value,
          times.inputGradient.value, times.weightGradient.value);
    for (const Alternative &way : layer.alternatives) {
      add("way", l, way.name, way.ways, way.recompute, way.time.value,
          way.parameters.value, way.memoryPerSample, way.memoryFixed);
      for (auto [other, bytes] : way.syncIn)
        add("in", l, way.name, other, bytes);
      for (auto [other, bytes] : way.syncOut)
        add("out", l, way.name, other, bytes);
    }
  }
  std::sort(facts.begin(), facts.end());
  return facts;
}

/// Converts a problem to a graph, to text, to a graph and back to a problem.
Problem thereAndBack(const Problem &problem, const Cluster &cluster) {
  mlir::MLIRContext context;
  auto module = writeGraph(context, problem);
  EXPECT_TRUE(module) << module.error().message;
  EXPECT_TRUE(succeeded(mlir::verify(**module)));
  std::string text;
  llvm::raw_string_ostream stream(text);
  (*module)->print(stream);
  auto parsed = mlir::parseSourceString<mlir::ModuleOp>(text, &context);
  EXPECT_TRUE(parsed);
  auto graph = *parsed->getOps<pipeline::GraphOp>().begin();
  auto read = pipeline::problemOf(graph, cluster);
  EXPECT_TRUE(succeeded(read));
  EXPECT_EQ(read->forwardOnly, problem.forwardOnly);
  return *read;
}

Cluster twoClasses() {
  Cluster cluster = *localCluster(2);
  cluster.devices[1].deviceClass = "fast";
  cluster.devices[1].speed = 3;
  return cluster;
}

/// The same on the devices that the file defines.
void expectUnchangedOnItsOwn(const Problem &problem) {
  ASSERT_FALSE(problem.cluster.devices.empty());
  EXPECT_EQ(factsOf(thereAndBack(problem, problem.cluster)), factsOf(problem));
}

void expectUnchanged(Problem problem) {
  Problem read = thereAndBack(problem, twoClasses());
  ASSERT_TRUE(placeOn(problem, twoClasses()));
  EXPECT_EQ(factsOf(read), factsOf(problem));
}

TEST(Profile, GraphsHoldTheWholeProfile) {
  for (const char *file :
       {"pipedream/alexnet.txt", "pipedream/vgg16.txt",
        "pipedream/resnet50.txt", "pipedream/gnmt.txt", "hpgo/vgg19.txt",
        "hpgo/gnmt_16.txt", "hpgo/bert_48.txt", "hpgo/xlnet_36.txt",
        "hpgo/amoebanet_36.txt"}) {
    SCOPED_TRACE(file);
    expectUnchanged(readShared(file, "pipedream"));
  }
  expectUnchanged(readShared("chains/vgg19.chain", "chain"));
  Problem piper = readShared("piper/bert32a100.json", "piper");
  expectUnchanged(piper);
  expectUnchangedOnItsOwn(piper);
  for (const char *file : {"bert24_inference", "gnmt_training"}) {
    SCOPED_TRACE(file);
    Problem problem =
        readShared("dnn-partitioning/layers/" + std::string(file) + ".json",
                   "dnn-partitioning");
    expectUnchanged(problem);
    expectUnchangedOnItsOwn(problem);
  }
}

TEST(Profile, GraphsHoldWhatOnlySomeFormatsState) {
  Problem problem;
  // Two layers with the same name; the first cannot be sliced.
  problem.layers = {{"a", {{Seconds(1), Seconds(2), Seconds(3)}}, false},
                    {"a", {{Seconds(4), Seconds(5), Seconds(6)}}}};
  using enum ActionKind;
  problem.values = {
      {Bytes(8), {0, Forward}, {{0, WeightGradient}}},
      {Bytes(8), {0, Forward}, {{1, Forward}}, Seconds(0.25)},
      {Bytes(9), {1, InputGradient}, {{0, InputGradient}}, Seconds(0)}};
  problem.residents = {{Bytes(7), ResidentKind::Constant, {1}},
                       {Bytes(6), ResidentKind::PerMicrobatch, {0, 1}},
                       {Bytes(5), ResidentKind::Parameter, {0, 1}},
                       {Bytes(5), ResidentKind::Gradient, {0, 1}}};
  expectUnchanged(problem);

  problem.forwardOnly = true;
  problem.residents.pop_back();
  problem.values = {problem.values[1]};
  for (Layer &layer : problem.layers)
    layer.times[0].inputGradient = layer.times[0].weightGradient = Seconds();
  expectUnchanged(problem);
}

TEST(Profile, GraphsCannotHoldEverything) {
  auto error = [](const Problem &problem) {
    mlir::MLIRContext context;
    auto module = writeGraph(context, problem);
    return module ? "none" : module.error().message;
  };
  Problem problem;
  problem.layers = {{"a", {{}}}, {"b", {{}}}};
  using enum ActionKind;
  problem.values = {{Bytes(8), {1, Forward}, {{0, Forward}}}};
  EXPECT_EQ(error(problem),
            "a value goes from b.F back to a.F, which runs before it");
  problem.values = {{Bytes(8), {0, InputGradient}, {{1, InputGradient}}}};
  EXPECT_EQ(error(problem),
            "a value goes from a.B back to b.B, which runs before it");
  problem.values.clear();
  problem.residents = {{Bytes(8), ResidentKind::Gradient, {1}}};
  EXPECT_EQ(error(problem), "a gradient of 8 B of layer 'b' has no parameter");
}

// A thousand layers with skips; a second would be too slow for planning.
TEST(Profile, LargeGraphsAreQuick) {
  Problem problem;
  for (int64_t l = 0; l < 1000; ++l) {
    problem.layers.push_back(
        {"l" + std::to_string(l), {{Seconds(1), Seconds(2), Seconds()}}});
    for (int64_t next : {l + 1, l + 10})
      if (next < 1000)
        problem.values.push_back({Bytes(8),
                                  {l, ActionKind::Forward},
                                  {{next, ActionKind::Forward}}});
  }
  expectUnchanged(problem);
}

} // namespace
