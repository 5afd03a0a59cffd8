//===- MemoryTable.cpp - bytes of every interval of layers ----------------===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "MemoryTable.h"
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
  fill(problem, false);
  if (recompute)
    fill(problem, true);
}

void MemoryTable::fill(const Problem &problem, bool recompute) {
  size_t layers = problem.layers.size();
  std::vector<std::vector<size_t>> valuesOf(layers), residentsOf(layers);
  auto note = [](std::vector<size_t> &list, size_t number) {
    if (list.empty() || list.back() != number)
      list.push_back(number);
  };
  for (size_t i = 0; i < problem.values.size(); ++i) {
    note(valuesOf[problem.values[i].producer.layer], i);
    for (const LayerPhase &use : problem.values[i].uses)
      note(valuesOf[use.layer], i);
  }
  for (size_t i = 0; i < problem.residents.size(); ++i)
    for (int64_t layer : problem.residents[i].layers)
      note(residentsOf[layer], i);

  table[recompute].resize(layers);
  for (size_t first = 0; first < layers; ++first) {
    StageMemory sum;
    std::vector<Place> places(problem.values.size());
    std::vector<bool> isHeld(problem.residents.size(), false);
    for (size_t layer = first; layer < layers; ++layer) {
      sum.addTemporaries(problem, layer);
      for (size_t i : residentsOf[layer]) {
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
      for (size_t i : valuesOf[layer]) {
        const Value &value = problem.values[i];
        int64_t bytes = problem.slotOf(value.bytes).value;
        Place &place = places[i];
        if (int64_t *slot = slotOf(value, place, recompute, sum))
          *slot -= bytes;
        place.producer |= size_t(value.producer.layer) == layer;
        for (const LayerPhase &use : value.uses)
          if (size_t(use.layer) == layer)
            (use.phase == ActionKind::Forward ? place.forwardUse
                                              : place.backwardUse) = true;
        if (int64_t *slot = slotOf(value, place, recompute, sum))
          *slot += bytes;
      }
      table[recompute][first].push_back(sum);
    }
  }
}

} // namespace stagewright
