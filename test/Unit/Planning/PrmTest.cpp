//===- PrmTest.cpp - dynamic program against a plain one ------------------===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Spp/Prm.h"
#include "LayerIndex.h"
#include "RandomInstances.h"
#include <algorithm>
#include <gtest/gtest.h>
#include <numeric>

using namespace stagewright;
using namespace stagewright::testing;

static constexpr double kInfinity = std::numeric_limits<double>::infinity();

namespace {
/// The recurrence of docs/planner.md, section 3, as written, over all l', i, r,
/// q, without pruning or shared sums; devices may be idle before the first and
/// after the last stage.
class PlainPrm {
public:
  PlainPrm(const Problem &problem, const Network &network,
           std::vector<size_t> order, bool fill)
      : problem(problem), network(network), order(std::move(order)),
        fill(fill) {}

  double best(size_t stages) const {
    double least = kInfinity;
    for (size_t start = 0; start < order.size(); ++start)
      for (size_t width = 1; start + width <= order.size(); ++width)
        least = std::min(least, suffix(stages, 0, start, width));
    return least;
  }

private:
  std::vector<size_t> block(size_t start, size_t width) const {
    return {order.begin() + start, order.begin() + start + width};
  }
  double stageLoad(size_t l, size_t l2, size_t start, size_t width,
                   double &once) const {
    double forward = 0, backward = 0;
    int64_t bytes = 0;
    for (size_t k = l; k < l2; ++k) {
      forward += problem.layers[k].times[0].forward.value;
      backward += problem.layers[k].times[0].inputGradient.value;
    }
    // The all-reduce of layer k starts after the backwards of k and all later
    // ones.
    double reduced = 0, running = 0, tail = 0;
    for (size_t k = l; k < l2; ++k) {
      Bytes held = problem.residents[k].bytes;
      bytes += held.value;
      reduced += allReduceTime(network, block(start, width), held).value;
      tail = std::max(tail, reduced - running);
      running += problem.layers[k].times[0].inputGradient.value / double(width);
    }
    if (!problem.model.overlapAllReduce)
      tail = allReduceTime(network, block(start, width), Bytes(bytes)).value;
    once = (forward + backward) / double(width);
    return double(problem.microbatches) * once + tail;
  }
  double channel(size_t cut, size_t start, size_t width, size_t next) const {
    auto even = [](size_t r) {
      return std::vector<double>(r, 1.0 / double(r));
    };
    Bytes bytes = problem.values[2 * (cut - 1)].bytes;
    return transferTime(network, block(start, width), even(width),
                        block(start + width, next), even(next), bytes)
        .value;
  }
  double suffix(size_t stages, size_t l, size_t start, size_t width) const {
    double once = 0;
    if (stages == 1)
      return stageLoad(l, problem.layers.size(), start, width, once);
    double least = kInfinity;
    for (size_t l2 = l + 1; l2 + stages - 1 <= problem.layers.size(); ++l2)
      for (size_t next = 1; start + width + next <= order.size(); ++next) {
        double load = stageLoad(l, l2, start, width, once);
        double way = channel(l2, start, width, next);
        double rest = suffix(stages - 1, l2, start + width, next);
        double both = 2 * double(problem.microbatches) * way;
        double onward =
            fill ? std::max(both, rest + 2 * way) + once : std::max(both, rest);
        least = std::min(least, std::max(load, onward));
      }
    return least;
  }

  const Problem &problem;
  const Network &network;
  std::vector<size_t> order;
  bool fill;
};
} // namespace

static std::vector<size_t> identity(size_t count) {
  std::vector<size_t> order(count);
  std::iota(order.begin(), order.end(), 0);
  return order;
}

TEST(Prm, WindowChangesNothing) {
  for (int64_t instance = 0; instance < 200; ++instance) {
    SCOPED_TRACE("seed " + std::to_string(instance));
    Draw draw(instance);
    Problem problem;
    size_t devices = draw.whole(2, 4);
    problem.cluster = randomCluster(draw, devices, 0.5, 8);
    problem.microbatches = draw.whole(2, 20);
    problem.model.overlapAllReduce = draw.chance(0.5);
    addRandomLayers(problem, draw, draw.whole(2, 5), 4, 8);
    Network network = *Network::create(problem.cluster);
    ChainCosts costs(problem, network);
    PrmBlocks blocks(problem, network, costs, identity(devices));
    for (bool fill : {false, true}) {
      PlainPrm plain(problem, network, identity(devices), fill);
      PrmOptions options;
      options.fillForward = options.fillBackward = fill;
      options.byStages = int64_t(std::min(devices, problem.layers.size()));
      std::vector<PrmPlan> plans =
          partitionReplicateMap(problem, costs, blocks, options);
      double least = kInfinity;
      for (size_t s = 1; s <= plans.size(); ++s) {
        double value = plain.best(s);
        EXPECT_NEAR(plans[s - 1].value, value, 1e-9 * value) << s;
        EXPECT_EQ(plans[s - 1].stages.size(), s);
        least = std::min(least, value);
      }
      options.byStages = 0;
      EXPECT_NEAR(leastValue(problem, costs, blocks, options), least,
                  1e-9 * least);
    }
  }
}

/// The min fill and drain over all plans whose loads are at most `cap`, by
/// enumeration.
static double leastFill(const Problem &problem, const Network &network,
                        double cap) {
  double least = kInfinity, count = double(problem.microbatches);
  forEachPlan(problem, network, [&](const PipelineModel &model) {
    double fill = 0;
    for (const PipelineStage &stage : model.stages) {
      if (count * stage.times.total().value + stage.tail.value > cap)
        return;
      fill += stage.times.total().value;
    }
    for (const PipelineChannel &channel : model.channels) {
      if (count * (channel.forward + channel.backward).value > cap)
        return;
      fill += (channel.forward + channel.backward).value;
    }
    least = std::min(least, fill);
  });
  return least;
}

TEST(Prm, LeastFillUnderACapOnAFlatNetwork) {
  // On a flat network one order of devices represents all.
  for (int64_t instance = 0; instance < 40; ++instance) {
    SCOPED_TRACE("seed " + std::to_string(instance));
    Draw draw(instance);
    Problem problem;
    double bandwidth = draw.real(0.5, 8);
    problem.cluster = randomCluster(draw, 4, bandwidth, bandwidth);
    problem.microbatches = draw.whole(1, 20);
    problem.model.sharedNics = false;
    addRandomLayers(problem, draw, 5, 4, 8);
    Network network = *Network::create(problem.cluster);
    ChainCosts costs(problem, network);
    PrmBlocks blocks(problem, network, costs, identity(4));
    PrmOptions options;
    double least = leastValue(problem, costs, blocks, options);
    options.fillForward = options.fillBackward = true;
    for (double factor : {1.0, 1.1, 1.5}) {
      options.cap = least * factor * (1 + 1e-9);
      double fill = leastFill(problem, network, options.cap);
      EXPECT_NEAR(leastValue(problem, costs, blocks, options), fill,
                  1e-9 * fill);
    }
  }
}

static std::vector<double> loadsByStages(const Problem &problem) {
  Network network = *Network::create(problem.cluster);
  ChainCosts costs(problem, network);
  size_t devices = problem.cluster.devices.size();
  PrmBlocks blocks(problem, network, costs, identity(devices));
  PrmOptions options;
  options.byStages = int64_t(std::min(devices, problem.layers.size()));
  std::vector<double> loads;
  for (const PrmPlan &plan :
       partitionReplicateMap(problem, costs, blocks, options))
    loads.push_back(plan.value);
  return loads;
}

TEST(Prm, ExampleE3) {
  std::vector<double> loads =
      loadsByStages(example({4, 2, 2}, 2, {3, 6, 6}, 3, 2, 4));
  ASSERT_EQ(loads.size(), 3u);
  EXPECT_DOUBLE_EQ(loads[0], 42);
  EXPECT_DOUBLE_EQ(loads[1], 40.5);
  EXPECT_DOUBLE_EQ(loads[2], 48);
}

TEST(Prm, ExampleE4) {
  std::vector<double> loads =
      loadsByStages(example({1, 1, 1, 1}, 3, {0, 0, 0, 0}, 4, 1, 6));
  ASSERT_EQ(loads.size(), 4u);
  EXPECT_DOUBLE_EQ(loads[0], 18);
  EXPECT_DOUBLE_EQ(loads[1], 18);
  EXPECT_DOUBLE_EQ(loads[2], 36);
  EXPECT_DOUBLE_EQ(loads[3], 36);
}

TEST(Prm, PairsCostWhatTransfersCost) {
  Draw draw(7);
  Problem problem;
  problem.cluster = randomCluster(draw, 6, 0.5, 8);
  for (Device &device : problem.cluster.devices)
    device.node /= 2;
  problem.cluster.fabric.nic = Bandwidth(2 * kUnit);
  for (Link &link : problem.cluster.links)
    link.latency = Seconds(draw.real(0, 0.5));
  addRandomLayers(problem, draw, 3, 4, 8);
  Network network = *Network::create(problem.cluster);
  ChainCosts costs(problem, network);
  PrmBlocks blocks(problem, network, costs, identity(6));
  for (const PrmBlock &block : blocks.blocks)
    for (size_t next = block.nextBegin; next < block.nextEnd; ++next) {
      const PrmBlock &other = blocks.blocks[next];
      EXPECT_EQ(other.used, block.used - block.width);
      auto devices = [&](const PrmBlock &b) {
        return std::vector<size_t>(blocks.order.begin() + b.start,
                                   blocks.order.begin() + b.start + b.width);
      };
      auto even = [](size_t r) {
        return std::vector<double>(r, 1.0 / double(r));
      };
      Bytes bytes(int64_t(3 * kUnit));
      double time = transferTime(network, devices(block), even(block.width),
                                 devices(other), even(other.width), bytes)
                        .value;
      const PrmPair &pair =
          blocks.pairs[block.pairBegin + next - block.nextBegin];
      EXPECT_NEAR(double(bytes.value) * pair.perByte + pair.latency, time,
                  1e-9 * time);
    }
}

TEST(Prm, MemoryOfIntervalsIsThatOfStages) {
  Draw draw(11);
  Problem problem;
  problem.cluster = randomCluster(draw, 2, 1, 1);
  problem.model.optimizerState = 2;
  addRandomLayers(problem, draw, 6, 4, 8);
  for (int64_t l = 0; l < 6; ++l)
    problem.residents.push_back(
        {Bytes(draw.whole(1, 1000)), ResidentKind::Parameter, {l}});
  problem.residents.push_back({Bytes(77), ResidentKind::Parameter, {0, 5}});
  problem.residents.push_back({Bytes(5), ResidentKind::PerMicrobatch, {2}});
  problem.values.push_back(
      {Bytes(123),
       {1, ActionKind::Forward},
       {{4, ActionKind::Forward}, {4, ActionKind::InputGradient}}});
  for (int64_t l = 0; l < 6; ++l)
    problem.layers[l].temporaries = Bytes(draw.whole(0, 500));
  // Some layers have levels at which some of their values are not kept.
  for (int64_t l = 1; l < 5; ++l) {
    for (int64_t level = 1; level <= l % 3; ++level)
      problem.layers[l].levels.push_back(
          {std::vector<Seconds>(problem.cluster.classes().size(), Seconds(1)),
           Bytes(draw.whole(0, 900)),
           {}});
    problem.values.push_back({Bytes(draw.whole(1, 1000)),
                              {l, ActionKind::Forward},
                              {{l, ActionKind::InputGradient, 0b011}}});
    problem.values.push_back({Bytes(draw.whole(1, 1000)),
                              {l, ActionKind::Forward},
                              {{l, ActionKind::InputGradient, 0b110}}});
  }
  MemoryTable table(problem, /*recompute=*/true);
  LayerIndex index(problem);
  for (size_t first = 0; first < 6; ++first)
    for (size_t end = first + 1; end <= 6; ++end)
      for (bool recompute : {false, true}) {
        std::vector<bool> isHere(6, false);
        std::fill(isHere.begin() + first, isHere.begin() + end, true);
        StageMemory want = stageMemory(problem, isHere, recompute);
        const StageMemory &got =
            table.at(first, end, recompute ? table.wholeForm() : 0);
        for (int64_t inFlight : {0, 1, 5})
          EXPECT_EQ(got.with(inFlight, 8, 0.5).value,
                    want.with(inFlight, 8, 0.5).value);
      }
  ASSERT_EQ(table.mostLevels(), 2);
  for (size_t first = 0; first < 6; ++first)
    for (size_t end = first + 1; end <= 6; ++end)
      for (int64_t level = 0; level <= 2; ++level) {
        StagePlan stage = stageOf(int64_t(first), int64_t(end), {0});
        for (int64_t layer : stage.layers)
          stage.levels.push_back(
              std::min(level, int64_t(problem.layers[layer].levels.size())));
        StageMemory want = stageMemory(problem, stage);
        for (int64_t inFlight : {0, 1, 5}) {
          EXPECT_EQ(table.at(first, end, level).with(inFlight, 8, 0.5).value,
                    want.with(inFlight, 8, 0.5).value);
          EXPECT_EQ(
              stageMemory(problem, index, stage).with(inFlight, 8, 0.5).value,
              want.with(inFlight, 8, 0.5).value);
        }
      }
}
