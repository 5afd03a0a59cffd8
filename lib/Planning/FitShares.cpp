//===- FitShares.cpp - shares of replicas that fit in memory --------------===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "FitShares.h"
#include <algorithm>
#include <cmath>

namespace stagewright {

/// Samples that `replica` has finished at `time`, at least one.
static int64_t finishedAt(const ReplicaRoom &replica, double time) {
  double count =
      replica.seconds > 0 ? std::floor(time / replica.seconds) : 1e18;
  return std::clamp<int64_t>(int64_t(std::min(count, 1e18)), 1, replica.most);
}

std::optional<std::vector<int64_t>>
dealSamples(const std::vector<ReplicaRoom> &replicas, int64_t samples) {
  // Find by bisection a time shortly before the last sample is finished, and
  // deal all samples that are finished by then at once; the loop at the end
  // deals the others one by one.
  double low = 0, high = 0;
  int64_t room = 0;
  for (const ReplicaRoom &replica : replicas) {
    if (replica.most < 1)
      return std::nullopt;
    room += std::min(replica.most, samples);
    high = std::max(high, double(samples) * replica.seconds);
  }
  if (samples < int64_t(replicas.size()) || room < samples)
    return std::nullopt;
  auto dealtBy = [&](double time) {
    int64_t dealt = 0;
    for (const ReplicaRoom &replica : replicas)
      dealt += std::min(finishedAt(replica, time), samples);
    return dealt;
  };
  constexpr double kRounding = 1e-9; // Relative, of finishing times.
  while (high - low > kRounding * high) {
    double middle = low + (high - low) / 2;
    (dealtBy(middle) < samples ? low : high) = middle;
  }
  low *= 1 - kRounding;
  bool isBefore = dealtBy(low) < samples;
  std::vector<int64_t> counts;
  int64_t left = samples;
  for (const ReplicaRoom &replica : replicas) {
    counts.push_back(isBefore ? finishedAt(replica, low) : 1);
    left -= counts.back();
  }
  for (; left > 0; --left) {
    std::optional<size_t> first;
    auto end = [&](size_t i) {
      return double(counts[i] + 1) * replicas[i].seconds;
    };
    for (size_t i = 0; i < replicas.size(); ++i)
      if (counts[i] < replicas[i].most &&
          (!first || end(i) < end(*first) * (1 - 1e-12)))
        first = i;
    ++counts[*first];
  }
  return counts;
}

bool mayShare(const Problem &problem, const StagePlan &stage) {
  return problem.model.unevenSlices && stage.devices.size() > 1 &&
         stage.rows.empty() && stage.ways == 1 && stage.alternatives.empty() &&
         int64_t(stage.devices.size()) <= problem.samples &&
         !takesTurns(problem, stage);
}

/// Seconds of a whole microbatch on a device of class `deviceClass`.
static double secondsOf(const Problem &problem, const StagePlan &stage,
                        size_t deviceClass) {
  double seconds = 0;
  for (size_t i = 0; i < stage.layers.size(); ++i) {
    StageTimes times = timesOfLayer(problem, stage, i, deviceClass);
    seconds += times.total().value;
    if (stage.recompute)
      seconds += times.forward.value;
  }
  return seconds;
}

std::vector<ReplicaRoom> roomsOf(const Problem &problem,
                                 const LayerIndex &index, const Plan &plan,
                                 size_t number, ExecutionOrder order) {
  const StagePlan &stage = plan.stages[number];
  SharedBytes bytes(problem, plan, number, order,
                    stageMemory(problem, index, stage));
  std::vector<size_t> classOf = problem.cluster.classOfDevices();
  std::vector<ReplicaRoom> rooms;
  for (size_t device : stage.devices) {
    Bytes memory = problem.cluster.devices[device].memory;
    auto fits = [&](int64_t samples) {
      return bytes.of(double(samples) / double(problem.samples)) <= memory;
    };
    rooms.push_back({secondsOf(problem, stage, classOf[device]),
                     mostSamples(problem.samples, fits)});
  }
  return rooms;
}

bool fitShares(const Problem &problem, const LayerIndex &index, Plan &plan,
               ExecutionOrder order,
               const std::function<void(StagePlan &)> &least) {
  bool any = false;
  for (size_t s = 0; s < plan.stages.size(); ++s) {
    StagePlan &stage = plan.stages[s];
    std::vector<Bytes> need = memoryOf(problem, index, plan, s, order);
    bool fits = true;
    for (size_t i = 0; i < need.size(); ++i)
      fits &= need[i] <= problem.cluster.devices[stage.devices[i]].memory;
    if (fits || !mayShare(problem, stage))
      continue;
    StagePlan before = stage;
    if (least)
      least(stage);
    std::optional<std::vector<int64_t>> rows =
        dealSamples(roomsOf(problem, index, plan, s, order), problem.samples);
    stage = std::move(before);
    if (!rows)
      return false;
    stage.rows = std::move(*rows);
    any = true;
  }
  return any;
}

} // namespace stagewright
