//===- RefineMoves.cpp - local moves of a plan ----------------------------===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Refine/RefineMoves.h"
#include <algorithm>
#include <map>
#include <set>
#include <tuple>

namespace stagewright {

MoveMaker::MoveMaker(const Problem &problem) : problem(problem) {
  std::map<std::tuple<std::string, int64_t, int64_t, size_t>, size_t> kinds;
  const std::vector<Device> &devices = problem.cluster.devices;
  for (size_t i = 0; i < devices.size(); ++i) {
    size_t own = problem.cluster.links.empty() ? 0 : i + 1;
    auto key = std::tuple(devices[i].deviceClass, devices[i].node,
                          devices[i].memory.value, own);
    kindOf.push_back(kinds.try_emplace(key, kinds.size()).first->second);
  }
  size_t layers = problem.layers.size();
  for (const Layer &layer : problem.layers)
    secondsOf.push_back(layer.times.front().total().value);
  in.resize(layers);
  out.resize(layers);
  for (const LayerValue &value : problem.values) {
    if (value.producer.phase != ActionKind::Forward)
      continue;
    std::set<int64_t> consumers;
    for (const LayerPhase &use : value.uses)
      if (use.layer != value.producer.layer)
        consumers.insert(use.layer);
    for (int64_t consumer : consumers) {
      out[value.producer.layer].push_back(consumer);
      in[consumer].push_back(value.producer.layer);
    }
  }
}

bool MoveMaker::isAllowed(const Stages &plan) const {
  if (problem.stages > 0 && int64_t(plan.size()) != problem.stages)
    return false;
  std::vector<size_t> stageOf(problem.layers.size(), 0);
  for (size_t s = 0; s < plan.size(); ++s) {
    if (plan[s].layers.empty() || plan[s].devices.empty() ||
        (problem.maxReplicas > 0 &&
         int64_t(plan[s].devices.size()) > problem.maxReplicas) ||
        (problem.samples > 1 &&
         int64_t(plan[s].devices.size()) > problem.samples))
      return false;
    for (int64_t layer : plan[s].layers)
      stageOf[layer] = s;
  }
  for (size_t layer = 0; layer < in.size(); ++layer)
    for (int64_t producer : in[layer])
      if (stageOf[producer] > stageOf[layer])
        return false;
  return true;
}

void MoveMaker::offer(std::string what, Stages plan) {
  if (isAllowed(plan))
    moves.push_back({std::move(what), std::move(plan)});
}

std::vector<size_t>
MoveMaker::differentOf(const std::vector<size_t> &devices) const {
  std::vector<size_t> different;
  std::set<size_t> kinds;
  for (size_t device : devices)
    if (kinds.insert(kindOf[device]).second)
      different.push_back(device);
  return different;
}

std::vector<size_t> MoveMaker::idleOf(const Stages &plan) const {
  std::vector<bool> used(kindOf.size(), false);
  for (const StagePlan &stage : plan)
    for (size_t device : stage.devices)
      used[device] = true;
  std::vector<size_t> idle;
  for (size_t device = 0; device < used.size(); ++device)
    if (!used[device])
      idle.push_back(device);
  return idle;
}

std::string stageName(size_t stage) { return "stage " + std::to_string(stage); }

static void addLayers(StagePlan &stage, const std::vector<int64_t> &layers) {
  stage.layers.insert(stage.layers.end(), layers.begin(), layers.end());
  std::sort(stage.layers.begin(), stage.layers.end());
}

/// Takes the first or last `count` layers out of `stage`.
static std::vector<int64_t> takeLayers(StagePlan &stage, size_t count,
                                       bool fromFront) {
  auto first = fromFront ? stage.layers.begin()
                         : stage.layers.end() - std::ptrdiff_t(count);
  std::vector<int64_t> taken(first, first + std::ptrdiff_t(count));
  stage.layers.erase(first, first + std::ptrdiff_t(count));
  return taken;
}

void MoveMaker::moveBlock(const Stages &plan, size_t from, size_t to,
                          size_t count, bool fromFront) {
  if (plan[from].layers.size() <= count)
    return;
  Stages next = plan;
  addLayers(next[to], takeLayers(next[from], count, fromFront));
  offer(std::to_string(count) + " layers of " + stageName(from) + " to " +
            stageName(to),
        std::move(next));
}

void MoveMaker::moveSingle(const Stages &plan, size_t s) {
  if (plan[s].layers.size() < 2)
    return;
  std::vector<size_t> stageOf(problem.layers.size(), 0);
  for (size_t t = 0; t < plan.size(); ++t)
    for (int64_t layer : plan[t].layers)
      stageOf[layer] = t;
  for (size_t i = 0; i < plan[s].layers.size(); ++i) {
    int64_t layer = plan[s].layers[i];
    size_t first = 0, last = plan.size() - 1;
    for (int64_t producer : in[layer])
      first = std::max(first, stageOf[producer]);
    for (int64_t consumer : out[layer])
      last = std::min(last, stageOf[consumer]);
    // moveBlock() moves the ends of a stage to its neighbours.
    bool isEnd = i == 0 || i + 1 == plan[s].layers.size();
    for (size_t to = first; to <= last && to < plan.size(); ++to) {
      if (to == s || (isEnd && (to + 1 == s || s + 1 == to)))
        continue;
      Stages next = plan;
      next[s].layers.erase(next[s].layers.begin() + std::ptrdiff_t(i));
      addLayers(next[to], {layer});
      offer("layer '" + problem.layers[layer].name + "' to " + stageName(to),
            std::move(next));
    }
  }
}

std::vector<Move> MoveMaker::layers(const Stages &plan, size_t s) {
  moves.clear();
  for (size_t count = 1; count < problem.layers.size(); count *= 2) {
    if (s > 0) {
      moveBlock(plan, s, s - 1, count, true);
      moveBlock(plan, s - 1, s, count, false);
    }
    if (s + 1 < plan.size()) {
      moveBlock(plan, s, s + 1, count, false);
      moveBlock(plan, s + 1, s, count, true);
    }
  }
  moveSingle(plan, s);
  return std::move(moves);
}

std::vector<Move> MoveMaker::others(const Stages &plan, size_t s) {
  moves.clear();
  toggleRecompute(plan, s);
  addDevices(plan, s);
  exchangeDevices(plan, s);
  splitStage(plan, s);
  if (s > 0)
    mergeStages(plan, s - 1);
  if (s + 1 < plan.size())
    mergeStages(plan, s);
  placeApart(plan, s);
  return std::move(moves);
}

} // namespace stagewright
