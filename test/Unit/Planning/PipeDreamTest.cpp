//===- PipeDreamTest.cpp - PipeDream's dynamic program --------------------===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "stagewright/Planning/PipeDream.h"
#include "PlanningData.h"
#include "stagewright/Planning/Planners.h"
#include <cmath>
#include <functional>
#include <nlohmann/json.hpp>
#include <random>

using namespace stagewright;

namespace {

/// The cost of a plan by the published optimizer, from the plan's layers and
/// devices only.
class PublishedCost {
public:
  PublishedCost(const Problem &problem, const std::vector<int64_t> &widths,
                const std::vector<double> &bandwidths)
      : problem(problem), widths(widths), bandwidths(bandwidths) {}

  double of(const Plan &plan) {
    double most = 0;
    // At the level of hosts, consecutive stages on the same hosts are one.
    for (size_t s = 0; s < plan.stages.size();) {
      size_t end = s + 1;
      while (end < plan.stages.size() && widths.size() > 1 &&
             hostsOf(plan.stages[end]) == hostsOf(plan.stages[s]))
        ++end;
      most = std::max(most, group(plan, s, end));
      s = end;
    }
    return most;
  }

private:
  struct Sums {
    double seconds = 0, parameters = 0;
  };

  double group(const Plan &plan, size_t first, size_t end) {
    double hosts =
        widths.size() > 1 ? double(hostsOf(plan.stages[first]).size()) : 1;
    double inside = 0;
    Sums all;
    for (size_t s = first; s < end; ++s) {
      Sums own = sums(plan.stages[s]);
      all.seconds += own.seconds;
      all.parameters += own.parameters;
      double m = double(plan.stages[s].devices.size()) / hosts;
      inside = std::max(inside, reduced(own.seconds, own, m, bandwidths[0], 1));
      if (widths.size() == 1 || end - first > 1)
        inside = std::max(inside, sent(plan, s, m, bandwidths[0],
                                       s > (widths.size() > 1 ? first : 0)));
    }
    if (widths.size() == 1)
      return inside;
    double below = first == 0 ? double(widths[0]) : 1;
    double whole = reduced(inside, all, hosts, bandwidths[1], below);
    bool isBehindCut = first > 0;
    return std::max(
        {whole,
         isBehindCut ? 2 * bytesBefore(plan, first) / (bandwidths[1] * hosts)
                     : 0.0,
         isBehindCut && end < plan.stages.size()
             ? 2 * bytesBefore(plan, end) / (bandwidths[1] * hosts)
             : 0.0});
  }

  /// (compute + 4 (m - 1) P / (B m below)) / m for m replicas, parameters P and
  /// bandwidth B.
  static double reduced(double compute, const Sums &own, double m,
                        double bandwidth, double below) {
    return (compute + 4 * (m - 1) * own.parameters / (bandwidth * m * below)) /
           m;
  }

  /// Twice the seconds to send the larger of the input and the output of a
  /// stage that follows a cut; 0 for other stages.
  double sent(const Plan &plan, size_t s, double m, double bandwidth,
              bool isBehindCut) const {
    if (!isBehindCut)
      return 0;
    double bytes = bytesBefore(plan, s);
    if (s + 1 < plan.stages.size())
      bytes = std::max(bytes, bytesBefore(plan, s + 1));
    return 2 * bytes / (bandwidth * m);
  }

  /// Bytes of all values made before stage `s` and used in `s` or later.
  double bytesBefore(const Plan &plan, size_t s) const {
    std::vector<bool> isBefore(problem.layers.size(), false);
    for (size_t i = 0; i < s; ++i)
      for (int64_t layer : plan.stages[i].layers)
        isBefore[layer] = true;
    double bytes = 0;
    for (const LayerValue &value : problem.values)
      if (value.producer.phase == ActionKind::Forward &&
          isBefore[value.producer.layer])
        for (const LayerPhase &use : value.uses)
          if (!isBefore[use.layer]) {
            bytes += double(value.bytes.value);
            break;
          }
    return bytes;
  }

  std::vector<int64_t> hostsOf(const StagePlan &stage) const {
    std::vector<int64_t> hosts;
    for (size_t device : stage.devices) {
      int64_t host = problem.cluster.devices[device].node;
      if (std::find(hosts.begin(), hosts.end(), host) == hosts.end())
        hosts.push_back(host);
    }
    return hosts;
  }

  Sums sums(const StagePlan &stage) const {
    Sums sum;
    for (int64_t layer : stage.layers)
      sum.seconds += problem.layers[layer].times[0].total().value;
    for (const Resident &resident : problem.residents)
      if (resident.kind == ResidentKind::Parameter &&
          std::find(stage.layers.begin(), stage.layers.end(),
                    resident.layers[0]) != stage.layers.end())
        sum.parameters += double(resident.bytes.value);
    return sum;
  }

  const Problem &problem;
  std::vector<int64_t> widths;
  std::vector<double> bandwidths;
};

/// The profile named by a row of the golden values.
std::string profileOf(const std::string &name) {
  if (name.starts_with("vgg-19-pbs-32"))
    return "hpgo/vgg19.txt";
  if (name.starts_with("xlnet_36"))
    return "hpgo/xlnet_36.txt";
  return "pipedream/" + name + ".txt";
}

/// Half a unit of the last digit of `printed`.
double halfDigit(const nlohmann::json &printed) {
  std::string text = printed.dump();
  size_t point = text.find('.');
  return 0.5000001 * std::pow(10, -double(text.size() - point - 1));
}

nlohmann::json goldenRows() {
  return nlohmann::json::parse(
      sharedText("golden/planners.json"))["pipedream_optimizer"];
}

/// A random chain, or a graph with random forward edges.
std::vector<PipeDreamNode> randomNodes(std::mt19937_64 &random, size_t count,
                                       bool isChain) {
  std::vector<PipeDreamNode> nodes(count);
  std::uniform_int_distribution<int> cost(1, 9), coin(0, 2);
  for (size_t i = 0; i < count; ++i) {
    nodes[i].seconds = cost(random);
    nodes[i].outputBytes = cost(random);
    nodes[i].parameterBytes = cost(random);
    for (size_t to = i + 1; to < count; ++to)
      if (to == i + 1 ? (isChain || coin(random)) : !isChain && !coin(random))
        nodes[i].successors.push_back(to);
  }
  return nodes;
}

} // namespace

TEST(PipeDream, FindsTheBottlenecksOfThePublishedOptimizer) {
  nlohmann::json rows = goldenRows();
  ASSERT_EQ(rows.size(), 9u);
  for (const nlohmann::json &row : rows) {
    std::string name = row["profile"];
    SCOPED_TRACE(name + " " + row["n"].dump());
    Problem problem = sharedProfile(profileOf(name), "pipedream");
    std::vector<int64_t> widths = row["n"];
    std::vector<double> bandwidths = row["bw"];
    bool isFlat = widths.size() == 1;
    std::vector<int64_t> hosts(widths.back(), isFlat ? 1 : widths[0]);
    ASSERT_TRUE(
        placeOn(problem, hostsOf(hosts, bandwidths[0], bandwidths.back())));
    Result<Plan> plan = planPipeDreamCode(problem);
    ASSERT_TRUE(plan) << plan.error().message;
    double golden = row["bottleneck_s"];
    EXPECT_NEAR(plan->value, golden, halfDigit(row["bottleneck_s"]));
    // The plan's cost, computed independently.
    PublishedCost cost(problem, widths, bandwidths);
    EXPECT_NEAR(cost.of(*plan), golden, halfDigit(row["bottleneck_s"]));
    EXPECT_TRUE(verify(problem, *plan));
    EXPECT_GT(plan->time.value, 0);
  }
}

TEST(PipeDream, AlexNetOnSixteenIsFifteenAndOne) {
  Problem problem = sharedProfile("pipedream/alexnet.txt", "pipedream");
  ASSERT_TRUE(
      placeOn(problem, hostsOf(std::vector<int64_t>(16, 1), 1.25e9, 1.25e9)));
  Plan plan = *planPipeDreamCode(problem);
  ASSERT_EQ(plan.stages.size(), 2u);
  EXPECT_EQ(plan.stages[0].devices.size(), 15u);
  EXPECT_EQ(plan.stages[1].devices.size(), 1u);
}

TEST(PipeDream, StatesAreTheAugmentedAntichains) {
  // The published program's counts, for graphs with one source.
  struct {
    const char *path;
    size_t states;
  } cases[] = {{"pipedream/vgg16.txt", 40}, {"pipedream/resnet50.txt", 240}};
  for (auto [path, states] : cases) {
    Problem problem = sharedProfile(path, "pipedream");
    std::vector<PipeDreamNode> nodes(problem.layers.size() - 1);
    for (const LayerValue &value : problem.values)
      for (const LayerPhase &use : value.uses)
        if (value.producer.phase == ActionKind::Forward &&
            use.phase == ActionKind::Forward && value.producer.layer > 0)
          nodes[value.producer.layer - 1].successors.push_back(use.layer - 1);
    EXPECT_EQ(pipeDreamStates(nodes, 1000)->size(), states) << path;
  }
}

TEST(PipeDream, SkipConnectionStaysInTheCut) {
  // 0 -> 1 -> 2 -> 3 and 0 -> 3: a cut after 1 or 2 also sends the output of 0.
  std::vector<PipeDreamNode> nodes = {
      {1, 10, 0, {1, 3}}, {1, 20, 0, {2}}, {1, 40, 0, {3}}, {1, 80, 0, {}}};
  std::vector<PipeDreamState> states = *pipeDreamStates(nodes, 100);
  ASSERT_EQ(states.size(), 4u);
  EXPECT_EQ(states[0].outputBytes, 10);
  EXPECT_EQ(states[1].outputBytes, 30);
  EXPECT_EQ(states[2].outputBytes, 50);
  std::vector<PipeDreamState> chain = chainStates(nodes);
  for (size_t i = 0; i < 3; ++i)
    EXPECT_EQ(chain[i].outputBytes, states[i].outputBytes);
}

TEST(PipeDream, TooManyAntichainsAreRefused) {
  // Nine parallel branches.
  std::vector<PipeDreamNode> nodes(11);
  for (size_t i = 1; i <= 9; ++i) {
    nodes[0].successors.push_back(i);
    nodes[i].successors.push_back(10);
  }
  EXPECT_TRUE(pipeDreamStates(nodes, 5000));
  Result<std::vector<PipeDreamState>> states = pipeDreamStates(nodes, 100);
  ASSERT_FALSE(states);
  EXPECT_EQ(states.error().message, "graph has more than 100 antichains; give "
                                    "its layers as a chain");
}

/// The min bottleneck of a chain of states over all cuts and replicas.
static double exhaustive(const std::vector<PipeDreamState> &states,
                         const PipeDreamLevel &level,
                         PipeDreamFormula formula) {
  bool paper = formula == PipeDreamFormula::Paper;
  double best = INFINITY;
  std::function<void(size_t, int64_t, double)> extend =
      [&](size_t first, int64_t workers, double worst) {
        if (first == states.size()) {
          if (workers == 0)
            best = std::min(best, worst);
          return;
        }
        for (size_t end = first + 1; end <= states.size(); ++end)
          for (int64_t m = 1; m <= workers; ++m) {
            double compute = states[end - 1].seconds,
                   bytes = states[end - 1].parameterBytes;
            if (first) {
              compute -= states[first - 1].seconds;
              bytes -= states[first - 1].parameterBytes;
            }
            double reduce = 2 * double(m - 1) * bytes / level.bandwidth;
            double cost = paper
                              ? std::max(compute, reduce) / double(m)
                              : (compute + 2 * reduce / double(m)) / double(m);
            double share = paper ? 1 : double(m);
            if (first)
              cost = std::max(cost, 2 * states[first - 1].outputBytes /
                                        (level.bandwidth * share));
            if (!paper && first && end < states.size())
              cost = std::max(cost, 2 * states[end - 1].outputBytes /
                                        (level.bandwidth * share));
            extend(end, workers - m, std::max(worst, cost));
          }
      };
  extend(0, level.width, 0);
  return best;
}

TEST(PipeDream, EqualsExhaustiveSearchOnChains) {
  constexpr uint64_t kSeed = 20260718;
  SCOPED_TRACE("seed " + std::to_string(kSeed));
  std::mt19937_64 random(kSeed);
  for (int round = 0; round < 200; ++round) {
    std::vector<PipeDreamNode> nodes =
        randomNodes(random, 1 + random() % 6, true);
    std::vector<PipeDreamState> states = *pipeDreamStates(nodes, 100);
    PipeDreamLevel level{int64_t(1 + random() % 5), 1.0 + double(random() % 8)};
    for (PipeDreamFormula formula :
         {PipeDreamFormula::Paper, PipeDreamFormula::Code}) {
      PipeDreamOptions options;
      options.formula = formula;
      EXPECT_DOUBLE_EQ(solvePipeDream(states, {level}, options)->bottleneck,
                       exhaustive(states, level, formula))
          << "round " << round;
    }
  }
}

TEST(PipeDream, EveryGraphsPlanIsAPlan) {
  constexpr uint64_t kSeed = 7;
  SCOPED_TRACE("seed " + std::to_string(kSeed));
  std::mt19937_64 random(kSeed);
  for (int round = 0; round < 60; ++round) {
    std::vector<PipeDreamNode> nodes =
        randomNodes(random, 1 + random() % 9, false);
    Problem problem;
    problem.microbatches = 4;
    for (size_t i = 0; i < nodes.size(); ++i) {
      problem.layers.push_back({"l" + std::to_string(i),
                                {{Seconds(nodes[i].seconds), Seconds(1), {}}}});
      LayerValue value{Bytes(int64_t(nodes[i].outputBytes)),
                       {int64_t(i), ActionKind::Forward},
                       {}};
      for (size_t to : nodes[i].successors)
        value.uses.push_back({int64_t(to), ActionKind::Forward});
      if (!value.uses.empty())
        problem.values.push_back(value);
    }
    ASSERT_TRUE(placeOn(problem, hostsOf({2, 2}, 8, 2)));
    for (auto planner : {planPipeDream, planPipeDreamCode}) {
      Result<Plan> plan = planner(problem);
      ASSERT_TRUE(plan) << "round " << round << ": " << plan.error().message;
      Status status = verify(problem, *plan);
      EXPECT_TRUE(status) << "round " << round << ": "
                          << status.error().message;
    }
    problem.maxReplicas = 1;
    Result<Plan> plan = planPipeDream(problem);
    ASSERT_TRUE(plan) << plan.error().message;
    for (const StagePlan &stage : plan->stages)
      EXPECT_EQ(stage.devices.size(), 1u);
  }
}

TEST(PipeDream, MemoryLimitsTheStash) {
  // Four equal nodes, two stages of one worker each. While the last stage has
  // one minibatch, the first has one stashed: 3 bytes per node.
  std::vector<PipeDreamNode> nodes = {
      {1, 2, 1, {1}}, {1, 2, 1, {2}}, {1, 2, 1, {3}}, {1, 2, 1, {}}};
  std::vector<PipeDreamState> states = *pipeDreamStates(nodes, 100);
  PipeDreamOptions options;
  options.maxReplicas = 1;
  for (auto [memory, bottleneck] : {std::pair(6.0, 2.0), std::pair(5.0, 3.0)}) {
    options.memory = memory;
    EXPECT_EQ(solvePipeDream(states, {{2, 100}}, options)->bottleneck,
              bottleneck);
  }
  options.memory = 2;
  Result<PipeDreamAnswer> answer = solvePipeDream(states, {{2, 100}}, options);
  ASSERT_FALSE(answer);
  EXPECT_EQ(answer.error().message,
            "no stages of 4 antichains fit on the workers; allow more "
            "replicas, fewer workers or more memory");
}

TEST(PipeDream, StagesAskedForAreRefused) {
  Problem problem = sharedProfile("chains/vgg19.chain", "chain");
  ASSERT_TRUE(placeOn(problem, hostsOf({4}, 1e9, 1e9)));
  problem.stages = 2;
  Result<Plan> plan = planPipeDream(problem);
  ASSERT_FALSE(plan);
  EXPECT_EQ(
      plan.error().message,
      "planner 'pipedream' finds the number of stages itself, got "
      "stages=2; leave out stages=, or use the planner 'spp' or 'balance'");
}
