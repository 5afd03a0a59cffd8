//===- RefineDevices.cpp - local moves of devices and whole stages --------===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Refine/RefineMoves.h"
#include <algorithm>
#include <cmath>

namespace stagewright {

static void removeDevice(StagePlan &stage, size_t device) {
  std::erase(stage.devices, device);
}

static bool hasDevice(const StagePlan &stage, size_t device) {
  return std::find(stage.devices.begin(), stage.devices.end(), device) !=
         stage.devices.end();
}

void MoveMaker::toggleRecompute(const Stages &plan, size_t s) {
  if (problem.forwardOnly || (!problem.recompute && !plan[s].recompute))
    return;
  Stages next = plan;
  next[s].recompute = !next[s].recompute;
  offer(stageName(s) +
            (next[s].recompute ? " recomputes" : " does not recompute"),
        std::move(next));
}

void MoveMaker::addDevices(const Stages &plan, size_t s) {
  auto nameOfDevice = [&](size_t device) {
    return problem.cluster.devices[device].name;
  };
  for (size_t device : differentOf(idleOf(plan))) {
    Stages next = plan;
    next[s].devices.push_back(device);
    offer("idle device " + nameOfDevice(device) + " to " + stageName(s),
          std::move(next));
  }
  for (size_t t = 0; t < plan.size(); ++t) {
    if (t == s || plan[t].devices.size() < 2)
      continue;
    for (size_t device : differentOf(plan[t].devices)) {
      if (hasDevice(plan[s], device))
        continue;
      Stages next = plan;
      removeDevice(next[t], device);
      next[s].devices.push_back(device);
      offer("device " + nameOfDevice(device) + " of " + stageName(t) + " to " +
                stageName(s),
            std::move(next));
    }
  }
  if (plan[s].devices.size() < 2)
    return;
  for (size_t device : differentOf(plan[s].devices)) {
    Stages next = plan;
    removeDevice(next[s], device);
    offer("device " + nameOfDevice(device) + " idle", next);
    // Also offer the device to the neighbouring stages.
    for (size_t t : {s - 1, s + 1}) {
      if (t >= plan.size() || hasDevice(plan[t], device))
        continue;
      Stages given = next;
      given[t].devices.push_back(device);
      offer("device " + nameOfDevice(device) + " of " + stageName(s) + " to " +
                stageName(t),
            std::move(given));
    }
  }
}

void MoveMaker::exchangeDevices(const Stages &plan, size_t s) {
  auto exchange = [&](Stages next, size_t t, size_t mine, size_t other) {
    std::replace(next[s].devices.begin(), next[s].devices.end(), mine, other);
    if (t < next.size())
      std::replace(next[t].devices.begin(), next[t].devices.end(), other, mine);
    offer("devices " + problem.cluster.devices[mine].name + " and " +
              problem.cluster.devices[other].name + " exchanged",
          std::move(next));
  };
  std::vector<size_t> mine = differentOf(plan[s].devices);
  for (size_t device : mine)
    for (size_t idle : differentOf(idleOf(plan)))
      if (kindOf[device] != kindOf[idle])
        exchange(plan, plan.size(), device, idle);
  for (size_t t = 0; t < plan.size(); ++t) {
    if (t == s)
      continue;
    for (size_t device : mine)
      for (size_t other : differentOf(plan[t].devices))
        if (kindOf[device] != kindOf[other] && !hasDevice(plan[s], other) &&
            !hasDevice(plan[t], device))
          exchange(plan, t, device, other);
    if (plan[s].devices.size() + plan[t].devices.size() > 2) {
      Stages next = plan;
      std::swap(next[s].devices, next[t].devices);
      offer("devices of " + stageName(s) + " and " + stageName(t) +
                " exchanged",
            std::move(next));
    }
  }
}

void MoveMaker::splitStage(const Stages &plan, size_t s) {
  const StagePlan &stage = plan[s];
  if (stage.layers.size() < 2)
    return;
  double total = 0;
  for (int64_t layer : stage.layers)
    total += secondsOf[layer];
  // Split the time of the layers in proportion to the numbers of devices.
  auto split = [&](std::vector<size_t> devices, size_t first) {
    double goal = total * double(first) / double(devices.size()), sum = 0;
    size_t cut = 1;
    for (size_t i = 0; i + 1 < stage.layers.size(); ++i) {
      sum += secondsOf[stage.layers[i]];
      cut = i + 1;
      if (sum + secondsOf[stage.layers[i + 1]] / 2 >= goal)
        break;
    }
    Stages next = plan;
    StagePlan second = stage;
    second.layers.assign(stage.layers.begin() + std::ptrdiff_t(cut),
                         stage.layers.end());
    second.devices.assign(devices.begin() + std::ptrdiff_t(first),
                          devices.end());
    next[s].layers.resize(cut);
    next[s].devices.assign(devices.begin(),
                           devices.begin() + std::ptrdiff_t(first));
    next.insert(next.begin() + std::ptrdiff_t(s) + 1, std::move(second));
    offer(stageName(s) + " split after " + std::to_string(cut) + " layers",
          std::move(next));
  };
  for (size_t first = 1; first < stage.devices.size(); ++first)
    split(stage.devices, first);
  for (size_t device : differentOf(idleOf(plan))) {
    std::vector<size_t> devices = stage.devices;
    devices.push_back(device);
    split(devices, stage.devices.size());
    std::rotate(devices.begin(), devices.end() - 1, devices.end());
    split(devices, 1);
  }
}

void MoveMaker::mergeStages(const Stages &plan, size_t s) {
  const StagePlan &a = plan[s], &b = plan[s + 1];
  std::vector<size_t> both = a.devices;
  for (size_t device : b.devices)
    if (!hasDevice(a, device))
      both.push_back(device);
  for (const std::vector<size_t> &devices : {both, a.devices, b.devices}) {
    Stages next = plan;
    next[s].layers.insert(next[s].layers.end(), b.layers.begin(),
                          b.layers.end());
    std::sort(next[s].layers.begin(), next[s].layers.end());
    next[s].devices = devices;
    next[s].recompute = a.recompute || b.recompute;
    next.erase(next.begin() + std::ptrdiff_t(s) + 1);
    offer(stageName(s) + " and " + stageName(s + 1) + " merged on " +
              std::to_string(devices.size()) + " devices",
          std::move(next));
  }
}

void MoveMaker::placeApart(const Stages &plan, size_t s) {
  for (size_t t = 0; t < plan.size(); ++t) {
    if (t == s || plan[t].devices == plan[s].devices)
      continue;
    Stages next = plan;
    next[s].devices = plan[t].devices;
    offer(stageName(s) + " on the devices of " + stageName(t), std::move(next));
  }
  for (bool front : {true, false})
    for (size_t count : {size_t(1), size_t(2)}) {
      if (plan[s].layers.size() <= count)
        continue;
      for (size_t t = 0; t < plan.size(); ++t) {
        if (t == s)
          continue;
        Stages next = plan;
        StagePlan apart = plan[s];
        apart.devices = plan[t].devices;
        auto cut =
            std::ptrdiff_t(front ? count : plan[s].layers.size() - count);
        std::vector<int64_t> head(plan[s].layers.begin(),
                                  plan[s].layers.begin() + cut),
            tail(plan[s].layers.begin() + cut, plan[s].layers.end());
        apart.layers = front ? head : tail;
        next[s].layers = front ? tail : head;
        next.insert(next.begin() + std::ptrdiff_t(s) + (front ? 0 : 1),
                    std::move(apart));
        offer((front ? "first " : "last ") + std::to_string(count) +
                  " layers of " + stageName(s) + " on the devices of " +
                  stageName(t),
              std::move(next));
      }
    }
}

} // namespace stagewright
