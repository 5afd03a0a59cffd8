//===- GangMemory.cpp - bytes that a device of a gang holds ---------------===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Gangs/GangBuilder.h"
#include "Placed/PassedValues.h"
#include <algorithm>

namespace stagewright {

/// By layer: bytes that the chosen shard makes in one level and reads in
/// another one of the same action, if layers are at recomputation level
/// `recompute`. They exist from the first level to the last; a layer counts
/// only the bytes of the level with the most.
std::vector<Bytes> GangBuilder::localsAt(int64_t recompute) const {
  std::vector<Bytes> most(sharded.ends.size());
  if (kind != GangTimes::Most)
    return most;
  std::vector<int64_t> ofPhase[kPhases];
  for (std::vector<int64_t> &bytes : ofPhase)
    bytes.resize(ofLevel.size(), 0);
  for (const LayerValue &value : fine.values) {
    auto levelHere = [&](const LayerPhase &use) -> std::optional<size_t> {
      auto [level, shard] = placeOf(use.layer);
      return shard == chosen && isAt(use, recompute) ? std::optional(level)
                                                     : std::nullopt;
    };
    size_t from = placeOf(value.producer.layer).level;
    for (const auto &[to, place] : passedUses(value, levelHere))
      if (!place.keeps(value.producer.phase)) // Else it is in the stash.
        for (size_t level = std::min(from, to); level <= std::max(from, to);
             ++level)
          ofPhase[numberOf(value.producer.phase)][level] +=
              fine.slotOf(value.bytes).value;
  }
  for (const std::vector<int64_t> &bytes : ofPhase)
    for (size_t level = 0; level < bytes.size(); ++level) {
      Bytes &own = most[size_t(ofLevel[level])];
      own = std::max(own, Bytes(bytes[level]));
    }
  return most;
}

/// By layer: bytes of the rings of messages that only the receiving actions
/// read, if layers are at recomputation level `recompute`. All levels of a
/// device share them (RankMemory::add()), so a layer counts only the bytes of
/// the level that gets the most. A value from another layer of the gang is a
/// message even if the same shard makes it: that layer may be on another gang.
std::vector<Bytes> GangBuilder::ringsOf(int64_t recompute) const {
  std::vector<double> received(ofLevel.size(), 0);
  for (const LayerValue &value : fine.values) {
    std::map<size_t, ValuePlace> places; // By level of the chosen shard.
    for (const LayerPhase &use : value.uses)
      if (placeOf(use.layer).shard == chosen && isAt(use, recompute))
        places[placeOf(use.layer).level].addUse(use.phase);
    bool isOwn = placeOf(value.producer.layer).shard == chosen;
    for (const auto &[level, place] : places)
      if (!place.keeps(value.producer.phase) && // Else it is in the stash.
          !(isOwn && ofLevel[level] == layerOf(value.producer.layer)))
        received[level] += double(fine.slotOf(value.bytes).value);
  }
  std::vector<Bytes> rings(sharded.ends.size());
  for (size_t level = 0; level < ofLevel.size(); ++level) {
    Bytes &own = rings[size_t(ofLevel[level])];
    double bytes = double(kSharedSlots) * received[level];
    own = std::max(own, Bytes(int64_t(std::min(bytes, 0x1p60))));
  }
  return rings;
}

/// Adds the rings to the temporaries, which all layers of a device share too.
void GangBuilder::addRings() {
  if (kind != GangTimes::Most)
    return;
  for (size_t level = 0; level <= size_t(result.mostLevels()); ++level) {
    std::vector<Bytes> rings = ringsOf(int64_t(level));
    for (size_t number = 0; number < rings.size(); ++number) {
      Layer &layer = result.layers[number];
      if (level == 0) {
        layer.temporaries += rings[number];
        layer.sampleTemporaries += rings[number];
      } else if (level <= layer.levels.size()) {
        if (level == wholes[number] && !againRings.empty())
          rings[number] = std::max(rings[number], againRings[number]);
        layer.levels[level - 1].temporaries += rings[number];
        layer.levels[level - 1].sampleTemporaries += rings[number];
      }
    }
  }
}

std::optional<size_t> GangBuilder::wholeLevel(int64_t layer) const {
  size_t levels = result.layers[size_t(layer)].levels.size(), most = 0;
  size_t end = sharded.ends[size_t(layer)],
         first = layer == 0 ? 0 : sharded.ends[size_t(layer) - 1];
  for (size_t cell = first * ways; cell < end * ways; ++cell)
    for (int64_t number : cells[cell])
      most = std::max(most, fine.layers[size_t(number)].levels.size());
  return levels > most ? std::optional(levels) : std::nullopt;
}

/// Whether `use` exists if each layer of the shard is at recomputation level
/// `recompute`, or at its highest.
bool GangBuilder::isAt(const LayerPhase &use, int64_t recompute) const {
  auto highest = int64_t(fine.layers[size_t(use.layer)].levels.size());
  return use.isAt(std::min(recompute, highest));
}

/// The recomputation levels of a layer of the gang at which `use` exists.
uint32_t GangBuilder::levelsOf(const LayerPhase &use) const {
  uint32_t levels = 0;
  for (int64_t level = 0; level < int64_t(kMostLevels); ++level)
    levels |= uint32_t(isAt(use, level)) << level;
  return levels;
}

/// Adds what the chosen shard gets from other layers of the gang, so that the
/// time of the messages counts. The uses exist at no recomputation level,
/// because ringsOf() and addKept() already count the bytes.
void GangBuilder::addMessage(const LayerValue &value) {
  LayerValue message{value.bytes,
                     {layerOf(value.producer.layer), value.producer.phase},
                     {},
                     value.transfer};
  for (const LayerPhase &use : value.uses)
    if (placeOf(use.layer).shard == chosen &&
        layerOf(use.layer) != message.producer.layer)
      message.uses.push_back({layerOf(use.layer), use.phase, /*levels=*/0});
  if (!message.uses.empty())
    result.values.push_back(std::move(message));
}

/// Adds a use of the chosen shard to what it keeps. Returns whether it needs a
/// value that the forward of its own layer makes, and that the forward makes
/// again at the wholeLevel().
bool GangBuilder::addUse(LayerValue &own, const LayerPhase &use) {
  LayerPhase there{layerOf(use.layer), use.phase, levelsOf(use)};
  bool isHere = there.layer == own.producer.layer,
       isForward = own.producer.phase == ActionKind::Forward;
  std::optional<size_t> whole = wholes[size_t(there.layer)];
  bool isRepeated = false;
  if (whole && isForward) {
    uint32_t below = (uint32_t(1) << *whole) - 1;
    if (isHere && there.phase != ActionKind::Forward) {
      isRepeated = there.isAt(0);
      there.levels &= below;
    } else if (!isHere && there.phase == ActionKind::Forward) {
      own.uses.push_back({there.layer, ActionKind::InputGradient, ~below});
    }
  }
  if (there.phase != own.producer.phase)
    own.uses.push_back(there);
  return isRepeated;
}

/// Adds `value` as far as the chosen shard keeps it between actions.
void GangBuilder::addKept(const LayerValue &value) {
  LayerValue own{value.bytes,
                 {layerOf(value.producer.layer), value.producer.phase},
                 {},
                 Seconds()}; // addMessage() has its time.
  bool isRepeated = false, isLate = false;
  for (const LayerPhase &use : value.uses)
    if (placeOf(use.layer).shard == chosen && addUse(own, use)) {
      isRepeated = true;
      isLate |= use.phase == ActionKind::WeightGradient;
    }
  if (isRepeated && isLate && !fine.wholeBackward) {
    // I makes it again, and a schedule may delay W.
    int64_t layer = own.producer.layer;
    uint32_t below = (uint32_t(1) << *wholes[size_t(layer)]) - 1;
    result.values.push_back({own.bytes,
                             {layer, ActionKind::InputGradient},
                             {{layer, ActionKind::WeightGradient, ~below}},
                             {}});
  } else if (isRepeated && again.empty()) { // For one microbatch at a time.
    size_t layer = size_t(own.producer.layer);
    RecomputeLevel &whole = result.layers[layer].levels[*wholes[layer] - 1];
    whole.temporaries += result.slotOf(own.bytes);
    whole.sampleTemporaries += result.slotOf(own.bytes);
  }
  if (!own.uses.empty())
    result.values.push_back(std::move(own));
}

/// Adds the values that the chosen shard gets from other layers of the gang,
/// and those that it keeps between actions.
void GangBuilder::addValues() {
  for (size_t layer = 0; layer < result.layers.size(); ++layer)
    wholes.push_back(wholeLevel(int64_t(layer)));
  for (const LayerValue &value : fine.values) {
    addMessage(value);
    addKept(value);
  }
}

void GangBuilder::addResidents() {
  for (const Resident &resident : fine.residents) {
    Resident own{resident.bytes, resident.kind, {}};
    for (int64_t layer : resident.layers)
      if (placeOf(layer).shard == chosen)
        own.layers.push_back(layerOf(layer));
    std::sort(own.layers.begin(), own.layers.end());
    if (!own.layers.empty())
      result.residents.push_back(std::move(own));
  }
}

} // namespace stagewright
