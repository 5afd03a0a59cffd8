//===- UniformTable.cpp - table of uniform plans beside a plan ------------===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
//   replicas  devices  chunks  level  schedule     memory    step    compared
//   8         8        10      3      interleaved  70.1 GiB  8.62 s  +5.2 %
//   12 more do not fit; the smallest of these, 64 x 1 devices with 1 chunk,
//   needs 131 GiB
//
//===----------------------------------------------------------------------===//

#include "stagewright/Planning/Baselines/Uniform.h"
#include "stagewright/Support/Printed.h"
#include "stagewright/Support/Text.h"
#include <algorithm>
#include <span>

namespace stagewright {

/// Max memory over the devices of `plan`.
static Bytes mostOf(const Problem &problem, const Plan &plan) {
  std::vector<Bytes> held(problem.cluster.devices.size());
  for (const StagePlan &stage : plan.stages)
    for (size_t device : stage.devices)
      held[device] += stage.memory;
  return *std::max_element(held.begin(), held.end());
}

/// One line on the plans that do not fit, sorted by the memory they need.
static std::string tooLarge(std::span<const UniformPlan> plans) {
  if (plans.empty())
    return "";
  const UniformPlan &least = plans.front();
  return std::to_string(plans.size()) +
         " more do not fit; the smallest of these, " +
         std::to_string(least.replicas) + " x " + std::to_string(least.ranks) +
         " devices with " + std::to_string(least.chunks) +
         (least.chunks == 1 ? " chunk, needs " : " chunks, needs ") +
         toString(least.need) + "\n";
}

std::string uniformTable(const Problem &problem,
                         const std::vector<UniformPlan> &plans, Seconds time) {
  std::vector<std::vector<std::string>> rows = {
      {"replicas", "devices", "chunks", "level", "schedule", "memory", "step",
       "compared with the plan"}};
  size_t fitting = 0;
  for (; fitting < plans.size() && plans[fitting].plan; ++fitting) {
    const UniformPlan &it = plans[fitting];
    std::string more =
        printed("%+.1f %%", 100 * (it.plan->time.value / time.value - 1));
    rows.push_back({std::to_string(it.replicas), std::to_string(it.ranks),
                    std::to_string(it.chunks), std::to_string(it.level),
                    it.plan->orderName(), toString(mostOf(problem, *it.plan)),
                    precisely(it.plan->time), more});
  }
  return "uniform plans: equal stages on equally many devices, all layers at "
         "one recomputation level\n" +
         alignColumns(rows) + tooLarge(std::span(plans).subspan(fitting));
}

} // namespace stagewright
