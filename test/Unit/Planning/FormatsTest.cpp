//===- FormatsTest.cpp - readers of published profiles --------------------===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "stagewright/Planning/Baselines/Formats.h"
#include <fstream>
#include <gtest/gtest.h>
#include <numeric>
#include <sstream>

using namespace stagewright;

namespace {

Problem readShared(const std::string &path, const char *format) {
  std::ifstream stream(std::string(STAGEWRIGHT_SHARED) + "/data/" + path);
  EXPECT_TRUE(stream) << path << " is missing";
  std::ostringstream text;
  text << stream.rdbuf();
  Result<ProfileFormat> found = findProfileFormat(format);
  EXPECT_TRUE(found);
  Result<Problem> problem = found->read(text.str(), path);
  EXPECT_TRUE(problem) << problem.error().message;
  return problem ? *problem : Problem();
}

double milliseconds(const Problem &problem, Seconds StageTimes::*time) {
  double sum = 0;
  for (const Layer &layer : problem.layers)
    sum += (layer.times.front().*time).value * 1e3;
  return sum;
}

int64_t bytes(const Problem &problem, ResidentKind kind, int64_t layer = -1) {
  int64_t sum = 0;
  for (const Resident &resident : problem.residents)
    if (resident.kind == kind && (layer < 0 || resident.layers[0] == layer))
      sum += resident.bytes.value;
  return sum;
}

/// Bytes of the forward values that cross the cut after `layer`, each once.
int64_t cutBehind(const Problem &problem, int64_t layer) {
  int64_t sum = 0;
  for (const LayerValue &value : problem.values) {
    if (value.producer.phase != ActionKind::Forward ||
        value.producer.layer > layer)
      continue;
    for (const LayerPhase &use : value.uses)
      if (use.layer > layer) {
        sum += value.bytes.value;
        break;
      }
  }
  return sum;
}

/// Edges of the forward graph.
size_t edges(const Problem &problem) {
  size_t count = 0;
  for (const LayerValue &value : problem.values)
    if (value.producer.phase == ActionKind::Forward)
      count += value.uses.size() / 2; // Each edge: a forward, a backward use.
  return count;
}

struct Totals {
  const char *file;
  size_t nodes, edges;
  double forward, backward; ///< Milliseconds, without input nodes.
  int64_t parameters;       ///< Bytes.
};

// Sources: the sums of the files' columns.
TEST(Formats, PipeDreamTotals) {
  const Totals table[] = {
      {"pipedream/alexnet.txt", 23, 23, 680.703 - 635.902, 40.520, 244403360},
      {"pipedream/vgg16.txt", 41, 41, 251.874 - 17.972, 438.633, 553430176},
      {"pipedream/resnet50.txt", 177, 193, 201.450 - 18.962, 260.931,
       102228128},
      {"pipedream/gnmt.txt", 48, 58, 33.533, 55.883, 775063808},
      {"hpgo/vgg19.txt", 26, 25, 51.410 - 3.4, 96.2, 548047022},
      {"hpgo/gnmt_16.txt", 96, 122, 90.329, 158.587, 1162988352},
      {"hpgo/bert_48.txt", 53, 100, 387.437 - 0.01, 643.2, 2549805056},
      {"hpgo/xlnet_36.txt", 43, 151, 139.93 - 17, 177.78, 2003000000},
      {"hpgo/amoebanet_36.txt", 44, 83, 48.67, 119.38, 3731135780}};
  for (const Totals &row : table) {
    SCOPED_TRACE(row.file);
    Problem problem = readShared(row.file, "pipedream");
    EXPECT_EQ(problem.layers.size(), row.nodes);
    EXPECT_EQ(edges(problem), row.edges);
    EXPECT_NEAR(milliseconds(problem, &StageTimes::forward), row.forward, 1e-6);
    EXPECT_NEAR(milliseconds(problem, &StageTimes::inputGradient), row.backward,
                1e-6);
    EXPECT_EQ(bytes(problem, ResidentKind::Parameter), row.parameters);
    EXPECT_EQ(bytes(problem, ResidentKind::Gradient), row.parameters);
  }
}

/// Compares the flattened graph with the chain that was derived from it.
void expectChain(const char *chainFile, const char *graphFile) {
  SCOPED_TRACE(chainFile);
  Problem chain = readShared(chainFile, "chain");
  Problem graph = readShared(graphFile, "pipedream");
  ASSERT_EQ(chain.layers.size(), graph.layers.size());
  for (size_t i = 0; i < chain.layers.size(); ++i) {
    SCOPED_TRACE(graph.layers[i].name);
    const StageTimes &want = chain.layers[i].times.front();
    const StageTimes &got = graph.layers[i].times.front();
    EXPECT_NEAR(got.forward.value, want.forward.value, 1e-12);
    EXPECT_NEAR(got.inputGradient.value, want.inputGradient.value, 1e-12);
    EXPECT_EQ(bytes(graph, ResidentKind::Parameter, int64_t(i)),
              bytes(chain, ResidentKind::Parameter, int64_t(i)));
    EXPECT_EQ(cutBehind(graph, int64_t(i)), cutBehind(chain, int64_t(i)));
  }
}

TEST(Formats, GraphsFlattenToTheirChains) {
  expectChain("chains/vgg19.chain", "hpgo/vgg19.txt");
  expectChain("chains/gnmt16.chain", "hpgo/gnmt_16.txt");
  expectChain("chains/xlnet36.chain", "hpgo/xlnet_36.txt");
  expectChain("chains/amoeba36.chain", "hpgo/amoebanet_36.txt");
}

// BERT's chain is for a third of the profiled batch; its
// times are rounded to 10 us.
TEST(Formats, BertFlattensToThreeTimesItsChain) {
  Problem chain = readShared("chains/bert48.chain", "chain");
  Problem graph = readShared("hpgo/bert_48.txt", "pipedream");
  ASSERT_EQ(chain.layers.size(), graph.layers.size());
  // The input nodes and the embedding are not scaled, so they are skipped.
  for (size_t i = 4; i < chain.layers.size(); ++i) {
    const StageTimes &third = chain.layers[i].times.front();
    const StageTimes &whole = graph.layers[i].times.front();
    EXPECT_NEAR(whole.forward.value / 3, third.forward.value, 5e-6);
    EXPECT_NEAR(whole.inputGradient.value / 3, third.inputGradient.value, 5e-6);
    // The chain also sends the mask to the last layer, which does not read it.
    int64_t cut = cutBehind(graph, int64_t(i));
    if (i + 2 == chain.layers.size())
      cut += 3538944;
    EXPECT_EQ(cut, 3 * cutBehind(chain, int64_t(i)));
  }
}

// The mask is sent forward but has no gradient.
TEST(Formats, DataHasNoGradient) {
  Problem problem = readShared("hpgo/bert_48.txt", "pipedream");
  ASSERT_EQ(problem.layers[1].name, "node2 attention_mask");
  EXPECT_EQ(cutBehind(problem, 1), 3538944);
  for (const LayerValue &value : problem.values)
    for (const LayerPhase &use : value.uses)
      EXPECT_TRUE(use.layer >= 2 || use.phase == ActionKind::Forward ||
                  value.producer.phase == ActionKind::Forward);
}

TEST(Formats, ChainsHoldTheirColumns) {
  Problem problem = readShared("chains/vgg19.chain", "chain");
  EXPECT_EQ(problem.layers.size(), 26u);
  // The 1-GPU time of vgg19 is the sum of its 25 layers.
  EXPECT_NEAR(milliseconds(problem, &StageTimes::forward), 48.01, 1e-9);
  EXPECT_EQ(cutBehind(problem, 1), 384000000);
  EXPECT_EQ(bytes(problem, ResidentKind::Parameter, 2), 140869);
  EXPECT_EQ(problem.values.size(), 2 * 25u);
}

std::string reason(const char *format, const std::string &text) {
  Result<Problem> problem = findProfileFormat(format)->read(text, "f");
  return problem ? "none" : problem.error().message;
}

std::string node(int id, const std::string &forward = "1",
                 const std::string &activation = "8") {
  return "node" + std::to_string(id) +
         " -- A(1, 2) -- forward_compute_time=" + forward +
         ", backward_compute_time=2, activation_size=" + activation +
         ", parameter_size=4.0\n";
}

TEST(Formats, PipeDreamErrors) {
  auto error = [](const std::string &text) {
    return reason("pipedream", text);
  };
  EXPECT_EQ(error(""), "f: no nodes");
  EXPECT_EQ(error("# no profile\n"),
            "f:1: expected 'node<number> -- description -- costs', got '# no "
            "profile'");
  EXPECT_EQ(error(node(1) + "\tnode1 -- node2\n"),
            "f:2: edge names node2, which the file does not have");
  EXPECT_EQ(error(node(1) + node(1)),
            "f:2: node1 is a second one, the first is in line 1");
  EXPECT_EQ(error(node(1) + node(2) + node(3) + "\tnode1 -- node2\n" +
                  "\tnode2 -- node3\n\tnode3 -- node2\n"),
            "f:2: the edges form a cycle: node2 -> node3 -> node2");
  EXPECT_EQ(error(node(1, "-1")),
            "f:1: forward_compute_time must be finite and at least 0, got -1");
  EXPECT_EQ(error(node(1, "nan")),
            "f:1: forward_compute_time must be finite and at least 0, got nan");
  EXPECT_EQ(error(node(1, "1", "[4; x]")),
            "f:1: activation_size must be a number, got 'x'");
  EXPECT_EQ(error(node(1, "1", "[4; 4")),
            "f:1: activation_size is a list without its ']', got '[4; 4'");
  EXPECT_EQ(error(node(1, "1e16")),
            "f:1: forward_compute_time must be at most 1e15, got 1e16");
  EXPECT_EQ(error(node(1, "1", "3e14")),
            "f:1: activation_size must be at most 281474976710656 bytes, got "
            "3e14");
  EXPECT_EQ(error(node(1, "1", "[2e14; 2e14]")),
            "f:1: activation_size must be at most 281474976710656 bytes in "
            "all, got '[2e14; 2e14]'");
  EXPECT_EQ(error(node(1) + "\tnode1 -- node1\n"),
            "f:1: the edges form a cycle: node1 -> node1");
  EXPECT_EQ(error("node1 -- A -- forward_compute_time=1\n"),
            "f:1: node has no 'backward_compute_time'");
  EXPECT_EQ(error(node(1) + "\tnode1\n"),
            "f:2: expected an edge 'node<number> -- node<number>', got "
            "'node1'");
}

TEST(Formats, PipeDreamTextIsForgiving) {
  std::string text = node(7, "1", "[8.0; 4]") +
                     "node2 -- B, with -- dashes -- forward_compute_time=3, "
                     "backward_compute_time=0, activation_size=1, "
                     "parameter_size=1 -- stage_id=1  \r\n\n" +
                     "\tnode7 -- node2  \n\tnode7 -- node2\n";
  Result<Problem> problem = readPipeDream(text, "f");
  ASSERT_TRUE(problem) << problem.error().message;
  ASSERT_EQ(problem->layers.size(), 2u);
  EXPECT_EQ(problem->layers[0].name, "node7 A(1, 2)");
  EXPECT_EQ(problem->layers[1].name, "node2 B, with -- dashes");
  ASSERT_EQ(problem->values.size(), 2u);
  EXPECT_EQ(problem->values[0].bytes.value, 12);
}

// One value with several uses; each use sends one gradient back.
TEST(Formats, AValueOfSeveralConsumersIsOneValue) {
  Result<Problem> problem = readPipeDream(
      node(1) + node(2) + node(3) + "\tnode1 -- node2\n\tnode1 -- node3\n",
      "f");
  ASSERT_TRUE(problem) << problem.error().message;
  ASSERT_EQ(problem->values.size(), 3u);
  EXPECT_EQ(problem->values[0].uses.size(), 4u);
  for (size_t i : {1, 2}) {
    EXPECT_EQ(problem->values[i].producer.layer, int64_t(i));
    ASSERT_EQ(problem->values[i].uses.size(), 1u);
    EXPECT_EQ(problem->values[i].uses[0].layer, 0);
  }
}

TEST(Formats, ChainErrors) {
  EXPECT_EQ(reason("chain", "# nothing\n"), "f: no layers");
  EXPECT_EQ(
      reason("chain", "\n1 2 3\n"),
      "f:2: a layer has 4 numbers (forward seconds, backward seconds, bytes "
      "sent to the next layer, parameter bytes), got 3");
  EXPECT_EQ(reason("chain", "1 nan 3 4\n"),
            "f:1: backward seconds must be finite and at least 0, got nan");
  EXPECT_EQ(
      reason("chain", "1 2 -3 4\n"),
      "f:1: bytes sent to the next layer must be finite and at least 0, got "
      "-3");
}

TEST(Formats, ClassesTakeTheProfiledTimeByTheirSpeed) {
  Result<Problem> problem = readChain("2 4 8 16\n1 1 0 0\n", "f");
  ASSERT_TRUE(problem);
  Result<Cluster> cluster = localCluster(2);
  ASSERT_TRUE(cluster);
  cluster->devices[1].deviceClass = "fast";
  cluster->devices[1].speed = 4;
  ASSERT_TRUE(placeOn(*problem, *cluster));
  ASSERT_EQ(problem->layers[0].times.size(), 2u);
  EXPECT_EQ(problem->layers[0].times[0].forward.value, 2);
  EXPECT_EQ(problem->layers[0].times[1].forward.value, 0.5);
  EXPECT_EQ(problem->layers[0].times[1].inputGradient.value, 1);
  // A second call would divide the times again.
  EXPECT_FALSE(placeOn(*problem, *cluster));
}

TEST(Formats, UnknownFormatsListTheOthers) {
  EXPECT_NE(findProfileFormat("onnx").error().message.find("chain, pipedream"),
            std::string::npos);
}

} // namespace
