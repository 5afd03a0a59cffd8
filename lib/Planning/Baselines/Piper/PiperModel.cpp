//===- PiperModel.cpp - a problem in Piper's terms ------------------------===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Piper/PiperStage.h"
#include "stagewright/Planning/Evaluate.h"
#include <algorithm>
#include <limits>
#include <set>

namespace stagewright {

PiperModel::PiperModel(const Problem &problem, const Network &network)
    : numLayers(int64_t(problem.layers.size())),
      microbatches(problem.microbatches) {
  bandwidth = std::numeric_limits<double>::infinity();
  for (size_t a = 0; a < network.size(); ++a)
    for (size_t b = a + 1; b < network.size(); ++b)
      bandwidth = std::min(bandwidth, network.bandwidth(a, b));
  memory = std::numeric_limits<double>::infinity();
  // Piper has one kind of device: take seconds on the slowest one.
  double slowest = std::numeric_limits<double>::infinity();
  for (const Device &device : problem.cluster.devices) {
    memory = std::min(memory, double(device.memory.value));
    slowest = std::min(slowest, device.speed);
  }
  byWays.resize(numLayers);
  for (int64_t layer = 0; layer < numLayers; ++layer)
    addLayer(problem, layer, slowest);
  std::set<int64_t> ways;
  for (const auto &choices : byWays)
    for (const auto &[number, list] : choices)
      ways.insert(number);
  allWays.assign(ways.begin(), ways.end());
  addEdges(problem);
}

const std::vector<PiperModel::Choice> &PiperModel::choices(int64_t layer,
                                                           int64_t ways) const {
  static const std::vector<Choice> none;
  auto found = byWays[layer].find(ways);
  return found == byWays[layer].end() ? none : found->second;
}

/// The choice of a layer without alternatives: seconds in the slowest class,
/// and bytes as in memoryOf(), but without temporaries.
static PiperModel::Choice plainChoice(const Problem &problem, int64_t layer,
                                      bool recompute) {
  PiperModel::Choice choice;
  choice.number = recompute;
  choice.recompute = recompute;
  for (const StageTimes &times : problem.layers[layer].times)
    choice.seconds = std::max(
        choice.seconds,
        (times.total() + (recompute ? times.forward : Seconds())).value);
  std::vector<bool> isHere(problem.layers.size(), false);
  isHere[layer] = true;
  StageMemory memory = stageMemory(problem, isHere, recompute);
  choice.perSample = double(memory.stash.all() + memory.receivedStash.all());
  choice.fixed = double(memory.once) +
                 double(problem.microbatches) * double(memory.perMicrobatch) +
                 double(memory.receivedStash.all() + 2 * memory.received +
                        memory.recomputed);
  for (const Resident &resident : problem.residents)
    if (resident.kind == ResidentKind::Gradient && !resident.layers.empty() &&
        resident.layers.front() == layer)
      choice.parameters += double(resident.bytes.value);
  return choice;
}

void PiperModel::addLayer(const Problem &problem, int64_t layer,
                          double slowest) {
  const std::vector<Alternative> &alternatives =
      problem.layers[layer].alternatives;
  for (size_t i = 0; i < alternatives.size(); ++i) {
    const Alternative &way = alternatives[i];
    if (way.recompute && !problem.recompute)
      continue;
    byWays[layer][way.ways].push_back(
        {i, way.recompute, way.time.value / slowest,
         double(way.parameters.value), way.memoryPerSample, way.memoryFixed,
         &way});
  }
  if (!alternatives.empty())
    return;
  byWays[layer][1].push_back(plainChoice(problem, layer, false));
  if (problem.recompute && !problem.forwardOnly)
    byWays[layer][1].push_back(plainChoice(problem, layer, true));
}

void PiperModel::addEdges(const Problem &problem) {
  std::map<std::pair<int64_t, int64_t>, double> seconds;
  for (const LayerValue &value : problem.values) {
    if (value.producer.phase != ActionKind::Forward)
      continue;
    std::set<int64_t> consumers;
    for (const LayerPhase &use : value.uses)
      if (use.phase == ActionKind::Forward && use.layer != value.producer.layer)
        consumers.insert(use.layer);
    for (int64_t consumer : consumers)
      seconds[{value.producer.layer, consumer}] +=
          value.transfer ? value.transfer->value
                         : double(value.bytes.value) / bandwidth;
  }
  in.resize(numLayers);
  out.resize(numLayers);
  for (auto [ends, time] : seconds) {
    out[ends.first].push_back({ends.second, time});
    in[ends.second].push_back({ends.first, time});
  }
}

} // namespace stagewright
