//===- RankMemory.cpp - memory of the stages of a rank --------------------===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Placed/RankMemory.h"
#include <algorithm>
#include <cassert>
#include <map>
#include <utility>

namespace stagewright {

/// Upper limit, in bytes, so that no sum of bytes overflows.
static constexpr int64_t kMostRing = int64_t(1) << 60;

void RankMemory::add(StageMemory stage, ByLife inFlight, int64_t microbatches,
                     int64_t number) {
  Part part{number, stage.stash, {}, 0, 0};
  part.ring = int64_t(std::min(stage.stash.times(inFlight), double(kMostRing)));
  part.temporaries = std::max<int64_t>(0, stage.temporaries - temporaries);
  temporaries += part.temporaries;
  stage.temporaries = stage.sampleTemporaries = 0;
  stage.stash = {};
  stage.leaving = leaving;
  int64_t more = 0;
  if (stage.sharesRings) {
    more = std::max<int64_t>(0, std::exchange(stage.received, 0) - received);
    received += more;
  }
  part.kept = stage.with(inFlight, microbatches, 1, 1, atOnce) +
              Bytes(std::min(more, kMostRing / kSharedSlots) * kSharedSlots);
  kept += part.kept;
  rings = std::min(rings + part.ring, kMostRing);
  stages.push_back(part);
}

void RankMemory::add(const Passed &value, int64_t inFlight) {
  auto part = std::find_if(stages.begin(), stages.end(), [&](const Part &each) {
    return each.number == value.from;
  });
  assert(part != stages.end() && "the stage has not been added");
  auto ring = int64_t(std::min(double(value.bytes) * double(inFlight),
                               double(kMostRing - part->ring)));
  part->ring += ring;
  rings = std::min(rings + ring, kMostRing);
  passed.push_back(value);
}

/// The place of an action in its order.
static int64_t placeOf(const StashLife &life, ActionKind phase) {
  return phase == ActionKind::Forward         ? life.forward
         : phase == ActionKind::InputGradient ? life.input
                                              : life.weight;
}

/// Adds the lives of the values that pass from stage to stage.
void RankMemory::addPassed(const std::vector<StashLife> &lives,
                           std::vector<LiveItem> &items) const {
  if (passed.empty())
    return;
  std::map<std::pair<int64_t, int64_t>, const StashLife *> lifeOf;
  for (const StashLife &life : lives)
    lifeOf[{life.stage, life.microbatch}] = &life;
  std::map<int64_t, std::vector<const Passed *>> values; // By their from.
  for (const Passed &value : passed)
    values[value.from].push_back(&value);
  for (const StashLife &life : lives)
    for (const Passed *value : values[life.stage])
      if (auto to = lifeOf.find({value->to, life.microbatch});
          to != lifeOf.end())
        items.push_back({value->bytes,
                         {placeOf(life, value->fromPhase),
                          placeOf(*to->second, value->toPhase)}});
}

std::vector<LiveItem>
RankMemory::itemsOf(const std::vector<StashLife> &lives) const {
  std::vector<LiveItem> items;
  items.reserve(lives.size() * 3);
  auto keep = [&](int64_t bytes, int64_t from, int64_t to) {
    if (bytes > 0)
      items.push_back({bytes, {from, to}});
  };
  for (const StashLife &life : lives) {
    auto part =
        std::find_if(stages.begin(), stages.end(), [&](const Part &each) {
          return each.number == life.stage;
        });
    if (part == stages.end())
      continue;
    const ByLife &stash = part->stash;
    if (life.input == life.weight)
      keep(stash.toInput + stash.toWeight, life.forward, life.weight);
    else {
      keep(stash.toInput, life.forward, life.input);
      keep(stash.toWeight, life.forward, life.weight);
    }
    keep(stash.between, life.input, life.weight);
  }
  addPassed(lives, items);
  return items;
}

void RankMemory::share(const std::vector<StashLife> &lives,
                       LifePacker *packer) {
  if (stages.size() < 2)
    return;
  std::vector<LiveItem> items = itemsOf(lives);
  if (!packer) {
    shared = liveBound(items);
    return;
  }
  std::vector<PackItem> packed = packItems(items);
  shared = packer->pack(packed).total;
}

bool RankMemory::fits(const std::vector<StashLife> &lives, LifePacker *packer,
                      Bytes most) const {
  if (with(rings) <= most || with(0) > most || stages.size() < 2)
    return with(rings) <= most;
  std::vector<LiveItem> items = itemsOf(lives);
  Bytes least = with(liveBound(items));
  if (least > most || !packer)
    return least <= most;
  return packer->fits(packItems(items), (most - with(0)).value);
}

std::vector<std::pair<int64_t, Bytes>> RankMemory::parts() const {
  std::vector<std::pair<int64_t, Bytes>> bytes;
  int64_t saved = rings - std::min(rings, shared), of = rings;
  for (const Part &part : stages) {
    // Divide the saving in proportion to the rings. Each part gets a share of
    // what the parts before it left, so that the shares add up.
    double share = of > 0 ? double(part.ring) / double(of) : 0;
    auto own = int64_t(share * double(saved));
    saved -= own;
    of -= part.ring;
    bytes.emplace_back(part.number,
                       part.kept + Bytes(part.ring - own + part.temporaries));
  }
  return bytes;
}

} // namespace stagewright
