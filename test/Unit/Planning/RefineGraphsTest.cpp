//===- RefineGraphsTest.cpp - graphs whose stages share devices -----------===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Simulates every assignment of layers to devices for small graphs: how much
// slower are contiguous stages, and does refine() find the best assignment?
//
//===----------------------------------------------------------------------===//

#include "RandomInstances.h"
#include "stagewright/Planning/Bounds.h"
#include "stagewright/Planning/Planners.h"
#include <gtest/gtest.h>
#include <iostream>

using namespace stagewright;
using namespace stagewright::testing;

namespace {

/// Layers of `forward` seconds (backward twice that) without edges; stages have
/// one device.
Problem layersOf(const std::vector<double> &forward, size_t devices,
                 double bandwidth, int64_t microbatches) {
  Problem problem;
  Draw draw(0);
  problem.cluster = randomCluster(draw, devices, bandwidth, bandwidth);
  problem.microbatches = microbatches;
  problem.maxReplicas = 1;
  for (double seconds : forward)
    problem.layers.push_back(
        {"l" + std::to_string(problem.layers.size()),
         {{Seconds(seconds), Seconds(2 * seconds), Seconds(0)}}});
  return problem;
}

/// A value of `units` in the forward, and its gradient in the backward.
void addEdge(Problem &problem, int64_t from, int64_t to, double units) {
  constexpr ActionKind F = ActionKind::Forward, I = ActionKind::InputGradient;
  Bytes bytes(int64_t(units * kUnit));
  problem.values.push_back({bytes, {from, F}, {{to, F}, {to, I}}});
  problem.values.push_back({bytes, {to, I}, {{from, I}}});
}

/// A stage for each run of consecutive layers on one device.
Plan runsOf(const std::vector<size_t> &deviceOf) {
  Plan plan;
  for (size_t l = 0; l < deviceOf.size(); ++l)
    if (l > 0 && deviceOf[l] == deviceOf[l - 1])
      plan.stages.back().layers.push_back(int64_t(l));
    else
      plan.stages.push_back(stageOf(int64_t(l), int64_t(l + 1), {deviceOf[l]}));
  return plan;
}

struct Best {
  double contiguous = 1e300, any = 1e300;
};

/// The min times over all assignments, for the problem's orders.
Best bestAssignments(const Problem &problem, const Network &network) {
  Best best;
  size_t devices = problem.cluster.devices.size();
  std::vector<size_t> deviceOf(problem.layers.size(), 0);
  for (bool done = false; !done;) {
    Plan plan = runsOf(deviceOf);
    std::vector<int> runs(devices, 0);
    bool isContiguous = true;
    for (const StagePlan &stage : plan.stages)
      isContiguous &= ++runs[stage.devices[0]] == 1;
    PipelineModel model = pipelineOf(problem, network, plan);
    for (ExecutionOrder order : problem.orders) {
      double time = makespanOf(model, order).value;
      best.any = std::min(best.any, time);
      if (isContiguous)
        best.contiguous = std::min(best.contiguous, time);
    }
    done = true;
    for (size_t &device : deviceOf)
      if (++device < devices) {
        done = false;
        break;
      } else {
        device = 0;
      }
  }
  return best;
}

/// Checks what refine() makes of spp's plan, which is contiguous.
void expectFound(const Problem &problem, double leastGain, const char *what) {
  Result<Network> network = Network::create(problem.cluster);
  ASSERT_TRUE(network);
  Best best = bestAssignments(problem, *network);
  Result<Plan> start = planSpp(problem);
  ASSERT_TRUE(start) << start.error().message;
  EXPECT_GE(start->time.value, best.contiguous * (1 - 1e-9));
  Result<Plan> refined = refine(problem, *network, *start);
  ASSERT_TRUE(refined) << refined.error().message;
  std::cout << what << ": contiguous optimum " << best.contiguous
            << " s, any assignment " << best.any << " s, spp "
            << start->time.value << " s, refined " << refined->time.value
            << " s\n";
  EXPECT_LE(best.any, best.contiguous * (1 - leastGain));
  EXPECT_LE(refined->time.value, best.any * (1 + 1e-9));
  // The bound for contiguous plans does not apply to this one.
  EXPECT_FALSE(isOfFamily(*refined));
  Result<Plan> whole = runPlanner(*findPlanner("refine"), problem);
  ASSERT_TRUE(whole) << whole.error().message;
  EXPECT_EQ(whole->time, refined->time);
  EXPECT_LE(whole->familyBound, whole->time);
  EXPECT_EQ(whole->familyBound, workLowerBound(problem));
}

TEST(RefineGraphs, EncoderAndDecoder) {
  // Source embedding, two encoder layers; target embedding, two decoder layers
  // that read the encoder's result, a projection. Each device has 8 of 24
  // seconds only if the target embedding shares a device with the projection.
  Problem problem = layersOf({2, 3, 3, 2, 4, 4, 6}, 3, 4, 8);
  addEdge(problem, 0, 1, 1);
  addEdge(problem, 1, 2, 1);
  addEdge(problem, 3, 4, 1);
  addEdge(problem, 4, 5, 1);
  addEdge(problem, 2, 4, 1);
  addEdge(problem, 2, 5, 1);
  addEdge(problem, 5, 6, 1);
  expectFound(problem, 0.1, "encoder and decoder on 3 devices");
}

TEST(RefineGraphs, TwoBranches) {
  // Branches of 5, 2, 1 s and of 2, 5, 2 s after layer 0; never joined.
  Problem problem = layersOf({1, 5, 2, 1, 2, 5, 2}, 2, 4, 8);
  for (int64_t l = 0; l < 3; ++l) {
    addEdge(problem, l == 0 ? 0 : l, l + 1, 0.5);
    addEdge(problem, l == 0 ? 0 : l + 3, l == 2 ? 6 : l + 4, 0.5);
  }
  expectFound(problem, 0, "two branches on 2 devices");
}

TEST(RefineGraphs, EmbeddingTiedToTheLastLayer) {
  // The first and last layers share a parameter of 12 units. On two devices,
  // its gradient and then its value cross a link of 2 units a second.
  Problem problem = layersOf({1, 2, 2, 2, 2, 1}, 2, 2, 6);
  for (int64_t l = 0; l + 1 < 6; ++l)
    addEdge(problem, l, l + 1, 0.5);
  for (ResidentKind kind : {ResidentKind::Parameter, ResidentKind::Gradient})
    problem.residents.push_back({Bytes(int64_t(12 * kUnit)), kind, {0, 5}});
  expectFound(problem, 0.1, "tied embedding on 2 devices");
}

} // namespace
