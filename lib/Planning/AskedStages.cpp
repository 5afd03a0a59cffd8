//===- AskedStages.cpp - stages that the user asks for --------------------===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "stagewright/Planning/AskedStages.h"
#include "stagewright/Support/Text.h"
#include <algorithm>

namespace stagewright {

/// "layers 'a' to 'c'"
static std::string namesOf(const Problem &problem, int64_t first, int64_t end) {
  std::string text = "'" + problem.layers[first].name + "'";
  return end - first == 1
             ? "layer " + text
             : "layers " + text + " to '" + problem.layers[end - 1].name + "'";
}

/// Checks the replicas of one asked stage.
static Status checkReplicas(const Problem &problem, const AskedStage &stage) {
  std::string asks = stage.source + " asks for " +
                     counted(stage.replicas, "replica") + " of a stage";
  if (problem.maxReplicas > 0 && stage.replicas > problem.maxReplicas)
    return Error{asks + ", and the options or the schedule allow at most " +
                 std::to_string(problem.maxReplicas) +
                 "; ask for fewer, or allow more"};
  bool slices = problem.samples > 1;
  for (int64_t layer = stage.first; layer < stage.end; ++layer)
    slices &= problem.layers[layer].sliceable;
  if (slices && stage.replicas > problem.samples)
    return Error{asks + ", and a microbatch has " +
                 std::to_string(problem.samples) +
                 " samples for them to share; ask for fewer, or give larger "
                 "microbatches"};
  if (!slices && problem.samples > 0 && stage.replicas > problem.microbatches)
    return Error{asks +
                 ", which take whole microbatches in turn, and there "
                 "are " +
                 std::to_string(problem.microbatches) +
                 "; ask for fewer, or for more microbatches"};
  return {};
}

/// Checks that the numbers of stages and devices suffice.
static Status checkCounts(const Problem &problem) {
  int64_t stages = 0, most = 0, needed = 0, end = 0;
  auto addFree = [&](int64_t layers) {
    stages += layers > 0;
    needed += layers > 0;
    most += layers;
  };
  for (const AskedStage &stage : problem.askedStages) {
    addFree(stage.first - end);
    end = stage.end;
    ++stages;
    ++most;
    needed += stage.replicas;
  }
  addFree(int64_t(problem.layers.size()) - end);
  needed += std::max<int64_t>(problem.stages - stages, 0);
  auto devices = int64_t(problem.cluster.devices.size());
  std::string first = problem.askedStages.front().source;
  if (needed > devices)
    return Error{"the stages of annotations, such as " + first +
                 ", and stages for all other layers need at least " +
                 counted(needed, "device") + ", cluster '" +
                 problem.cluster.name + "' has " + std::to_string(devices) +
                 "; annotate fewer replicas, or name a larger cluster"};
  if (problem.stages > 0 && (problem.stages < stages || problem.stages > most))
    return Error{counted(problem.stages, "stage") +
                 " cannot be made: annotations, such as " + first + ", allow " +
                 std::to_string(stages) +
                 (most == stages ? "" : " to " + std::to_string(most)) +
                 "; leave out the number of stages"};
  return {};
}

Status checkAskedStages(const Problem &problem) {
  if (problem.askedStages.empty())
    return {};
  int64_t before = 0;
  for (const AskedStage &stage : problem.askedStages) {
    if (stage.first < before || stage.first >= stage.end ||
        stage.end > int64_t(problem.layers.size()) || stage.replicas < 1)
      return Error{stage.source + " asks for layers [" +
                   std::to_string(stage.first) + "," +
                   std::to_string(stage.end) + ") with " +
                   counted(stage.replicas, "replica") + "; there are " +
                   std::to_string(problem.layers.size()) +
                   " layers, and asked stages must be in order, without "
                   "overlap"};
    before = stage.end;
    if (Status status = checkReplicas(problem, stage); !status)
      return status;
  }
  return checkCounts(problem);
}

Status verifyAskedStages(const Problem &problem, const Plan &plan) {
  for (const AskedStage &asked : problem.askedStages) {
    auto has = [&](const StagePlan &stage, int64_t layer) {
      return std::binary_search(stage.layers.begin(), stage.layers.end(),
                                layer);
    };
    auto found = std::find_if(
        plan.stages.begin(), plan.stages.end(),
        [&](const StagePlan &stage) { return has(stage, asked.first); });
    bool isSame =
        found != plan.stages.end() && found->layers.front() == asked.first &&
        found->layers.back() == asked.end - 1 &&
        int64_t(found->layers.size()) == asked.end - asked.first &&
        int64_t(found->devices.size()) == asked.replicas * found->ways;
    if (isSame)
      continue;
    std::string actual =
        found == plan.stages.end()
            ? "nowhere"
            : "on stage " + std::to_string(found - plan.stages.begin()) +
                  " with " +
                  namesOf(problem, found->layers.front(),
                          found->layers.back() + 1) +
                  " on " + counted(int64_t(found->devices.size()), "device");
    return Error{asked.source + " asks for " +
                 namesOf(problem, asked.first, asked.end) +
                 " as one stage on " + counted(asked.replicas, "device") +
                 ", and the plan has " +
                 (asked.end - asked.first == 1 ? "it " : "the first of them ") +
                 actual + "; change the annotation or the plan"};
  }
  return {};
}

StageRules::StageRules(const Problem &problem) {
  if (problem.askedStages.empty())
    return;
  size_t layers = problem.layers.size();
  inside.assign(layers + 1, false);
  endOf.assign(layers + 1, 0);
  widthOf.assign(layers + 1, 0);
  std::vector<bool> isAsked(layers, false);
  for (const AskedStage &stage : problem.askedStages) {
    endOf[size_t(stage.first)] = size_t(stage.end);
    widthOf[size_t(stage.first)] = size_t(stage.replicas);
    for (int64_t layer = stage.first; layer < stage.end; ++layer) {
      isAsked[size_t(layer)] = true;
      inside[size_t(layer)] = layer > stage.first;
    }
  }
  asked.assign(1, 0);
  for (bool own : isAsked)
    asked.push_back(asked.back() + own);
}

} // namespace stagewright
