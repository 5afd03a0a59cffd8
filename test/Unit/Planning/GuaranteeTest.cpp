//===- GuaranteeTest.cpp - bounds on random plans -------------------------===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Random problems have 2 to 14 layers, 2 to 8 devices, up to 8 stages, 1 to 40
// microbatches, random bandwidths, replicas and all-reduce, and also
// hosts with NICs, two device classes, whole samples, full duplex, overlap of
// the all-reduce, skips, tied gradients and layers that cannot be sliced. The
// plan is random too.
//
//===----------------------------------------------------------------------===//

#include "RandomInstances.h"
#include "stagewright/Planning/Bounds.h"
#include <cstdio>
#include <gtest/gtest.h>
#include <numeric>

using namespace stagewright;
using namespace stagewright::testing;

static constexpr uint64_t kSeed = 20240617;
static constexpr uint64_t kInstances = 100000 / kPart;

static Problem randomProblem(Draw &draw) {
  Problem problem;
  size_t devices = draw.whole(2, 8);
  problem.cluster = randomCluster(draw, devices, 0.5, 8);
  if (draw.chance(0.3)) {
    for (Device &device : problem.cluster.devices)
      device.node /= draw.whole(1, 3);
    problem.cluster.fabric.nic = Bandwidth(kUnit * draw.real(0.5, 8));
  }
  if (draw.chance(0.3))
    for (Link &link : problem.cluster.links)
      link.latency = Seconds(draw.real(0, 0.2));
  bool unequal = draw.chance(0.3);
  if (unequal)
    for (size_t d = 1; d < devices; d += 2)
      problem.cluster.devices[d].deviceClass = "other";
  problem.microbatches = draw.whole(1, 40);
  problem.samples = draw.chance(0.3) ? draw.whole(1, 12) : 0;
  problem.model.overlapAllReduce = draw.chance(0.5);
  problem.model.halfDuplex = draw.chance(0.8);
  problem.model.sharedNics = draw.chance(0.5);
  problem.model.unevenSlices = draw.chance(0.7);
  problem.model.directSkips = draw.chance(0.7);
  int64_t layers = draw.whole(2, 14);
  addRandomLayers(problem, draw, layers, draw.real(0, 6), draw.real(0, 8));
  if (unequal) {
    bool proportional = draw.chance(0.5);
    double slower = draw.real(0.5, 3);
    for (Layer &layer : problem.layers) {
      double times = proportional ? slower : draw.real(0.5, 3);
      layer.times[1].forward = layer.times[0].forward * times;
      layer.times[1].inputGradient = layer.times[0].inputGradient * times;
    }
  }
  if (draw.chance(0.2) && layers > 3) {
    int64_t from = draw.whole(0, layers - 3);
    problem.values.push_back({Bytes(int64_t(kUnit)),
                              {from, ActionKind::Forward},
                              {{from + 2, ActionKind::Forward}}});
    problem.values.push_back({Bytes(int64_t(kUnit)),
                              {from + 2, ActionKind::InputGradient},
                              {{from, ActionKind::InputGradient}}});
  }
  if (draw.chance(0.1))
    problem.layers[draw.whole(0, layers - 1)].sliceable = false;
  if (draw.chance(0.1))
    problem.residents.push_back(
        {Bytes(int64_t(kUnit)), ResidentKind::Gradient, {0, layers - 1}});
  return problem;
}

/// Contiguous stages on disjoint devices in any order; devices may be idle.
static Plan randomPlan(const Problem &problem, Draw &draw) {
  size_t devices = problem.cluster.devices.size();
  std::vector<size_t> order(devices);
  std::iota(order.begin(), order.end(), 0);
  for (size_t i = devices; i > 1; --i)
    std::swap(order[i - 1], order[draw.whole(0, int64_t(i) - 1)]);
  int64_t layers = int64_t(problem.layers.size());
  int64_t stages =
      draw.whole(1, std::min<int64_t>({8, layers, int64_t(devices)}));
  Plan plan;
  int64_t first = 0, used = 0;
  for (int64_t s = stages; s > 0; --s) {
    int64_t end = s == 1 ? layers : draw.whole(first + 1, layers - s + 1);
    int64_t most = int64_t(devices) - used - (s - 1);
    int64_t width = draw.chance(0.5) ? 1 : draw.whole(1, most);
    plan.stages.push_back(stageOf(
        first, end, {order.begin() + used, order.begin() + used + width}));
    first = end;
    used += width;
  }
  return plan;
}

TEST(Guarantee, NoOrderBeatsTheBoundsAndTheWindowKeepsItsOwn) {
  std::printf("seed %llu, %llu instances\n", (unsigned long long)kSeed,
              (unsigned long long)kInstances);
  constexpr ExecutionOrder others[] = {
      ExecutionOrder::Greedy, ExecutionOrder::CapA,
      ExecutionOrder::EarlyBackward, ExecutionOrder::GPipe,
      ExecutionOrder::OneFOneB};
  double overUpper = 0, overLower = 0, overFamily = 0;
  uint64_t claimed = 0;
  for (uint64_t i = 0; i < kInstances; ++i) {
    Draw draw(kSeed + i);
    Problem problem = randomProblem(draw);
    Plan plan = randomPlan(problem, draw);
    Network network = *Network::create(problem.cluster);
    PipelineModel model = pipelineOf(problem, network, plan);
    double lower = planLowerBound(model).value;
    double window = makespanOf(model, ExecutionOrder::Window).value;
    double other = makespanOf(model, others[i % 5]).value;
    double least = std::min(window, other) * (1 + 1e-9);
    ASSERT_LE(lower, least) << "instance " << i;
    overLower += window / lower;
    if (std::optional<Seconds> upper = windowUpperBound(model)) {
      ASSERT_LE(window, upper->value * (1 + 1e-9)) << "instance " << i;
      overUpper = std::max(overUpper, window / upper->value);
      ++claimed;
    }
    double family = familyLowerBound(problem, network).value;
    ASSERT_LE(family, least) << "instance " << i;
    overFamily += window / family;
  }
  std::printf("window over its upper bound: at most %.6f (%llu claimed); over "
              "the plan's lower bound: %.4f in the mean; a random plan over "
              "the family's: %.3f in the mean\n",
              overUpper, (unsigned long long)claimed,
              overLower / double(kInstances), overFamily / double(kInstances));
  EXPECT_GT(claimed, kInstances / 2);
}
