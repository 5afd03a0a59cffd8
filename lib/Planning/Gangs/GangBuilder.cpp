//===- GangBuilder.cpp - builds the problem of gangs ----------------------===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Gangs/GangBuilder.h"
#include <algorithm>

namespace stagewright {

/// Chooses the shard with the most bytes of parameters, gradients and other
/// residents.
void GangBuilder::chooseShard() {
  std::vector<int64_t> bytes(ways, 0);
  for (const Resident &resident : fine.residents) {
    std::vector<bool> has(ways, false);
    for (int64_t layer : resident.layers)
      has[placeOf(layer).shard] = true;
    for (size_t shard = 0; shard < ways; ++shard)
      bytes[shard] += has[shard] ? resident.bytes.value : 0;
  }
  chosen = size_t(std::max_element(bytes.begin(), bytes.end()) - bytes.begin());
}

/// Raises the temporaries of `again`, a recomputation level of a gang's layer,
/// to at least those of `own` at `level`.
static void addTemporaries(const Layer &own, int64_t level,
                           RecomputeLevel &again) {
  level = std::min(level, int64_t(own.levels.size()));
  auto add = [](Bytes bytes, Bytes &most) { most = std::max(most, bytes); };
  if (level == 0) {
    add(own.temporaries, again.temporaries);
    return add(own.sampleTemporaries, again.sampleTemporaries);
  }
  add(own.levels[size_t(level) - 1].temporaries, again.temporaries);
  add(own.levels[size_t(level) - 1].sampleTemporaries, again.sampleTemporaries);
}

void GangBuilder::addLayers() {
  size_t level = 0;
  for (size_t end : sharded.ends) {
    Layer layer;
    layer.times.resize(gangs.classes.size());
    layer.sliceable = false;
    size_t recompute = 0;
    RecomputeLevel kept;
    for (; level < end; ++level) {
      for (size_t shard = 0; shard < ways; ++shard)
        for (int64_t number : cells[at({level, shard})]) {
          const Layer &own = fine.layers[size_t(number)];
          if (layer.name.empty())
            layer.name = own.name;
          addTemporaries(own, 0, kept);
          recompute = std::max(recompute, own.levels.size());
        }
      for (size_t c = 0; c < gangs.classes.size(); ++c) {
        StageTimes &times = layer.times[c];
        times.forward += Seconds(secondsOf(level, 0, gangs.classes[c], 0));
        times.inputGradient +=
            Seconds(secondsOf(level, 1, gangs.classes[c], 0));
        times.weightGradient +=
            Seconds(secondsOf(level, 2, gangs.classes[c], 0));
      }
    }
    size_t first =
        result.layers.empty() ? 0 : sharded.ends[result.layers.size() - 1];
    size_t number = result.layers.size();
    Bytes local = locals[0][number];
    layer.temporaries = kept.temporaries + local;
    layer.sampleTemporaries = kept.sampleTemporaries + local;
    for (int64_t k = 1; k <= int64_t(recompute); ++k) {
      RecomputeLevel &again = layer.levels.emplace_back();
      local = locals[size_t(k)][number];
      for (size_t l = first * ways; l < end * ways; ++l)
        for (int64_t own : cells[l])
          addTemporaries(fine.layers[size_t(own)], k, again);
      again.temporaries += local;
      again.sampleTemporaries += local;
      for (const std::vector<size_t> &own : gangs.classes) {
        Seconds &seconds = again.seconds.emplace_back();
        for (size_t l = first; l < end; ++l)
          seconds += Seconds(secondsOf(l, 1, own, k));
      }
    }
    if (sharded.repeats && !fine.forwardOnly && recompute + 2 <= kMostLevels)
      addWholeLevel(layer, first, end);
    result.layers.push_back(std::move(layer));
  }
}

/// Adds the recomputation level at which the levels [first, end) of the shards
/// run again, with their messages. addValues() adds the bytes that they then
/// hold.
void GangBuilder::addWholeLevel(Layer &layer, size_t first, size_t end) const {
  RecomputeLevel repeated{{}, layer.temporaries, layer.sampleTemporaries};
  if (!again.empty()) {
    size_t number = result.layers.size();
    const Layer &own = again[number];
    // addRings() adds the rings.
    Bytes rings = kind == GangTimes::Most ? againRings[number] : Bytes();
    repeated.temporaries =
        std::max(repeated.temporaries, own.temporaries - rings);
    repeated.sampleTemporaries =
        std::max(repeated.sampleTemporaries, own.sampleTemporaries - rings);
  }
  for (const std::vector<size_t> &own : gangs.classes) {
    Seconds &seconds = repeated.seconds.emplace_back();
    if (!again.empty()) {
      size_t number = result.layers.size(), c = repeated.seconds.size() - 1;
      seconds = std::max(seconds, again[number].times[c].inputGradient -
                                      layer.times[c].inputGradient);
      continue;
    }
    for (size_t level = first; level < end; ++level)
      seconds += Seconds(secondsOf(level, 0, own, 0));
  }
  layer.levels.push_back(std::move(repeated));
}

/// Builds the layers of ShardedLayers::again, whose backwards include what runs
/// again. addWholeLevel() and addRings() take times and rings from them.
void GangBuilder::readAgain() {
  if (!sharded.repeats || !sharded.again)
    return;
  GangBuilder builder(sharded.again->problem, network, sharded.again->layers,
                      kind);
  again = builder.build().layers;
  againRings = builder.ringsOf(0);
}

Problem GangBuilder::build() {
  ofLevel = layersByLevel(sharded.ends);
  cells.resize(ofLevel.size() * ways);
  for (size_t layer = 0; layer < fine.layers.size(); ++layer)
    cells[at({sharded.places[layer].level, sharded.places[layer].shard})]
        .push_back(int64_t(layer));
  result.cluster = gangs.cluster;
  result.shards = int64_t(ways);
  result.forwardOnly = fine.forwardOnly;
  result.wholeBackward = fine.wholeBackward;
  result.samples = 1; // Replicas take whole microbatches.
  result.slotAlignment = fine.slotAlignment;
  result.microbatches = fine.microbatches;
  result.recompute = fine.recompute;
  result.level = fine.level;
  result.offload = OffloadChoice::None;
  result.orders = fine.orders;
  result.model = fine.model;
  result.model.sharesRings = false;
  chooseShard();
  collectMessages();
  for (int64_t level = 0; level <= fine.mostLevels(); ++level)
    locals.push_back(localsAt(level));
  readAgain();
  addLayers();
  addValues();
  addRings();
  addResidents();
  return std::move(result);
}

} // namespace stagewright
