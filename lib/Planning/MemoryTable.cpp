//===- MemoryTable.cpp - memory of every interval of layers ---------------===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "MemoryTable.h"
#include "LayerIndex.h"
#include "ValuePlace.h"
#include <algorithm>
#include <cmath>

namespace stagewright {

MemoryTable::MemoryTable(const Problem &problem, bool recompute)
    : microbatches(problem.microbatches) {
  forms.push_back(fill(problem, false, 0));
  if (recompute) {
    levels = problem.mostLevels();
    for (int64_t level = 1; level <= levels; ++level)
      forms.push_back(fill(problem, false, level));
    forms.push_back(fill(problem, true, 0));
  }
  if (!problem.mayOffload())
    return;
  offloaded = numForms();
  forms.push_back(fill(problem, false, 0, /*offload=*/true));
}

RoomLimits &MemoryTable::limits(const std::vector<Room> &rooms,
                                bool turns) const {
  std::scoped_lock lock(mutex);
  return known
      .try_emplace({rooms, turns}, *this, forms.front().size(), microbatches,
                   rooms)
      .first->second;
}

MemoryTable::Table MemoryTable::fill(const Problem &problem, bool recompute,
                                     int64_t level, bool offload) {
  auto levelOf = [&](size_t layer) {
    return std::min(level, int64_t(problem.layers[layer].levels.size()));
  };
  Table table;
  size_t layers = problem.layers.size();
  LayerIndex index(problem);

  table.resize(layers);
  for (size_t first = 0; first < layers; ++first) {
    StageMemory sum;
    ValuePlace none;
    none.offloaded = offload;
    std::vector<ValuePlace> places(problem.values.size(), none);
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
        const LayerValue &value = problem.values[i];
        int64_t bytes = problem.slotOf(value.bytes).value;
        ValuePlace &place = places[i];
        if (int64_t *counter = counterOf(value, place, recompute, sum))
          *counter -= bytes;
        place.producer |= size_t(value.producer.layer) == layer;
        for (const LayerPhase &use : value.uses)
          if (size_t(use.layer) == layer && use.isAt(levelOf(layer)))
            place.addUse(use.phase);
        if (int64_t *counter = counterOf(value, place, recompute, sum))
          *counter += bytes;
      }
      table[first].push_back(sum);
    }
  }
  return table;
}

} // namespace stagewright
