//===- RandomInstances.h - small planning problems --------------*- C++ -*-===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Random instances, and all plans of small ones.
//
//===----------------------------------------------------------------------===//

#ifndef STAGEWRIGHT_TEST_PLANNING_RANDOMINSTANCES_H
#define STAGEWRIGHT_TEST_PLANNING_RANDOMINSTANCES_H

#include "../Random.h"
#include "stagewright/Planning/Evaluate.h"
#include <functional>

namespace stagewright::testing {

/// Bytes per unit: byte counts are integers, units are not.
inline constexpr double kUnit = 1e6;

/// `count` devices of one class; between any two a link of `low` to `high`
/// units a second, without latency; enough memory for all.
inline Cluster randomCluster(Draw &draw, size_t count, double low,
                             double high) {
  Cluster cluster;
  cluster.name = "random";
  for (size_t i = 0; i < count; ++i) {
    Device device;
    device.name = "d" + std::to_string(i);
    device.deviceClass = "all";
    device.node = int64_t(i);
    device.flops = FlopRate(1);
    device.bandwidth = Bandwidth(1);
    device.memory = Bytes(int64_t(1) << 50);
    cluster.devices.push_back(device);
    for (size_t j = 0; j < i; ++j)
      cluster.links.push_back(
          {j, i, Bandwidth(kUnit * draw.real(low, high)), Seconds(0)});
  }
  return cluster;
}

/// Appends a layer that takes `forward` and `backward` seconds, receives
/// `handed` units from the previous layer and has `held` units of gradients.
inline void addLayer(Problem &problem, double forward, double backward,
                     double handed, double held) {
  int64_t layer = int64_t(problem.layers.size());
  StageTimes times{Seconds(forward), Seconds(backward), Seconds(0)};
  problem.layers.push_back(
      {"l" + std::to_string(layer),
       std::vector<StageTimes>(problem.cluster.classes().size(), times)});
  problem.residents.push_back(
      {Bytes(int64_t(held * kUnit)), ResidentKind::Gradient, {layer}});
  if (layer == 0)
    return;
  Bytes bytes(int64_t(handed * kUnit));
  constexpr ActionKind F = ActionKind::Forward, I = ActionKind::InputGradient;
  problem.values.push_back({bytes, {layer - 1, F}, {{layer, F}, {layer, I}}});
  problem.values.push_back({bytes, {layer, I}, {{layer - 1, I}}});
}

/// A chain with forwards of `times`, backwards twice that, `handed` units
/// between layers, `held` units of gradients, links of `bandwidth` units a
/// second.
inline Problem example(const std::vector<double> &times, double handed,
                       const std::vector<double> &held, size_t devices,
                       double bandwidth, int64_t microbatches) {
  Problem problem;
  Draw draw(0);
  problem.cluster = randomCluster(draw, devices, bandwidth, bandwidth);
  problem.microbatches = microbatches;
  problem.model.overlapAllReduce = false;
  for (size_t l = 0; l < times.size(); ++l)
    addLayer(problem, times[l], 2 * times[l], handed, held[l]);
  return problem;
}

/// A chain with F in [0.2, 2] s, B of 1 to 2.5 times F, cuts up to `handed`
/// units and gradients up to `held` units, none in a quarter of the layers.
inline void addRandomLayers(Problem &problem, Draw &draw, int64_t count,
                            double handed, double held) {
  for (int64_t l = 0; l < count; ++l) {
    double forward = draw.real(0.2, 2);
    double backward = forward * draw.real(1, 2.5);
    double bytes = draw.real(0, handed);
    addLayer(problem, forward, backward, bytes,
             draw.chance(0.25) ? 0 : draw.real(0, held));
  }
}

/// Calls `visit` with the pipeline of every plan of contiguous stages on
/// disjoint devices; devices may be idle. Pipelines are assembled from tables
/// by the formulas of Evaluate.h.
void forEachPlan(const Problem &problem, const Network &network,
                 const std::function<void(const PipelineModel &)> &visit);

/// The min time over these plans and the window, greedy, K_A, K_B and GPipe
/// orders, or `known` if no plan is faster.
double bestOfAllPlans(const Problem &problem, const Network &network,
                      double known);

} // namespace stagewright::testing

#endif // STAGEWRIGHT_TEST_PLANNING_RANDOMINSTANCES_H
