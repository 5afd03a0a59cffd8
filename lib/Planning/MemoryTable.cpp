//===- MemoryTable.cpp - bytes of every interval of layers ----------------===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "MemoryTable.h"
#include "LayerIndex.h"
#include <algorithm>
#include <cmath>

namespace stagewright {

namespace {
/// Which ends of a value lie in the interval.
struct Place {
  bool producer = false, forwardUse = false, backwardUse = false;
};
} // namespace

/// The counter of `memory` that a value so placed belongs to, as in
/// stageMemory(); null where the stage does not hold it.
static int64_t *slotOf(const Value &value, const Place &place, bool recompute,
                       StageMemory &memory) {
  bool forward = value.producer.phase == ActionKind::Forward;
  if (place.producer) {
    if (!forward || !place.backwardUse)
      return nullptr;
    return recompute ? &memory.recomputed : &memory.stash;
  }
  if (forward && (place.backwardUse || (recompute && place.forwardUse)))
    return &memory.receivedStash;
  return place.forwardUse || place.backwardUse ? &memory.received : nullptr;
}

MemoryTable::MemoryTable(const Problem &problem, bool recompute) {
  levels.push_back(fill(problem, false, 0));
  if (!recompute)
    return;
  again = fill(problem, true, 0);
  for (int64_t level = 1; level <= problem.mostLevels(); ++level)
    levels.push_back(fill(problem, false, level));
}

MemoryTable::Table MemoryTable::fill(const Problem &problem, bool recompute,
                                     int64_t level) {
  auto levelOf = [&](size_t layer) {
    return std::min(level, int64_t(problem.layers[layer].levels.size()));
  };
  Table table;
  size_t layers = problem.layers.size();
  LayerIndex index(problem);

  table.resize(layers);
  for (size_t first = 0; first < layers; ++first) {
    StageMemory sum;
    std::vector<Place> places(problem.values.size());
    std::vector<bool> isHeld(problem.residents.size(), false);
    for (size_t layer = first; layer < layers; ++layer) {
      sum.addTemporaries(problem, layer, levelOf(layer));
      for (size_t i : index.residents[layer]) {
        const Resident &resident = problem.residents[i];
        bool perMicrobatch = resident.kind == ResidentKind::PerMicrobatch;
        if (!isHeld[i])
          (perMicrobatch ? sum.perMicrobatch : sum.once) +=
              problem.slotOf(resident.bytes).value;
        isHeld[i] = true;
        if (resident.kind == ResidentKind::Parameter &&
            size_t(resident.layers.front()) == layer)
          sum.once += std::llround(problem.model.optimizerState *
                                   double(resident.bytes.value));
      }
      for (size_t i : index.values[layer]) {
        const Value &value = problem.values[i];
        int64_t bytes = problem.slotOf(value.bytes).value;
        Place &place = places[i];
        if (int64_t *slot = slotOf(value, place, recompute, sum))
          *slot -= bytes;
        place.producer |= size_t(value.producer.layer) == layer;
        for (const LayerPhase &use : value.uses)
          if (size_t(use.layer) == layer && use.isAt(levelOf(layer)))
            (use.phase == ActionKind::Forward ? place.forwardUse
                                              : place.backwardUse) = true;
        if (int64_t *slot = slotOf(value, place, recompute, sum))
          *slot += bytes;
      }
      table[first].push_back(sum);
    }
  }
  return table;
}

} // namespace stagewright
