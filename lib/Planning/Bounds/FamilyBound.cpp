//===- FamilyBound.cpp - lower bound on contiguous plans ------------------===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Bounds/Family.h"
#include "LayerIndex.h"
#include "Spp/Prm.h"
#include "stagewright/Planning/Bounds.h"
#include <algorithm>
#include <limits>
#include <numeric>

namespace stagewright {

/// The work of all microbatches, spread evenly over all devices.
static double capacityBound(const Family &family) {
  double speed =
      std::accumulate(family.speeds.begin(), family.speeds.end(), 0.0);
  return family.costs.microbatches * family.costs.total(0) / speed;
}

/// Whether every plan surely has a stage that fits on no device. Layers hold
/// memory even without microbatches, for example for parameters. Of n stages
/// one holds at least 1/n of it, and one the largest layer; each replica of a
/// stage holds all of the stage's part.
static bool lacksMemory(const Problem &problem) {
  int64_t once = memoryOfAll(problem).once, largest = mostOfOneLayer(problem);
  auto most =
      int64_t(std::min(problem.layers.size(), problem.cluster.devices.size()));
  return std::all_of(problem.cluster.devices.begin(),
                     problem.cluster.devices.end(), [&](const Device &device) {
                       return std::max(once / most, largest) >
                              device.memory.value;
                     });
}

Seconds familyLowerBound(const Problem &problem, const Network &network) {
  if (lacksMemory(problem))
    return Seconds(std::numeric_limits<double>::infinity());
  Family family(problem, network);
  const ChainCosts &costs = family.costs;
  // A microbatch passes all earlier stages before it reaches a stage only if
  // each layer feeds the next one.
  bool comes = true, returns = !costs.forwardOnly;
  for (size_t l = 1; l < costs.layers; ++l) {
    comes &= costs.feeds[l];
    returns &= costs.returns[l];
  }
  PrmOptions options;
  options.fillForward = comes;
  options.countTail = true;
  double best = leastValue(problem, costs, family.blocks, options);
  if (comes && returns) {
    options.fillBackward = true;
    options.countTail = false;
    best = std::max(best, leastValue(problem, costs, family.blocks, options));
  }
  // Allow for rounding: the simulator adds times in another order.
  return Seconds(std::max(best, capacityBound(family)) * (1 - 1e-12));
}

} // namespace stagewright
