//===- GangTimes.cpp - seconds of the layers of a gang --------------------===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Gangs/GangBuilder.h"
#include <algorithm>
#include <limits>

namespace stagewright {

/// Adds up what each device gets from the others of its gang.
void GangBuilder::collectMessages() {
  for (auto &ofPhase : messages)
    ofPhase.assign(cells.size(), std::vector<int64_t>(ways, 0));
  for (const LayerValue &value : fine.values) {
    auto [from, sender] = placeOf(value.producer.layer);
    std::vector<bool> isSent(ways, false);
    for (const LayerPhase &use : value.uses) {
      auto [to, shard] = placeOf(use.layer);
      if (shard == sender || isSent[shard] ||
          use.phase != value.producer.phase || !use.isAt(0))
        continue;
      bool isForward = use.phase == ActionKind::Forward;
      bool isNext = isForward ? from + 1 == to : to + 1 == from;
      if (kind == GangTimes::Least && !isNext)
        continue;
      isSent[shard] = true;
      messages[numberOf(use.phase)][at({to, shard})][sender] +=
          value.bytes.value;
    }
  }
}

/// Seconds that a device waits for messages before it runs `phase` of a level:
/// the most or the least of all gangs.
double GangBuilder::waitOf(const Cell &cell, size_t phase) const {
  if (kind == GangTimes::Compute)
    return 0;
  bool isMost = kind == GangTimes::Most;
  double wait = isMost ? 0 : std::numeric_limits<double>::infinity();
  for (size_t gang : gangs.distinct) {
    double own =
        waitInGang(network, gang, cell.shard, messages[phase][at(cell)],
                   {!isMost, fine.model.sharedNics});
    wait = isMost ? std::max(wait, own) : std::min(wait, own);
  }
  return wait;
}

/// Seconds of `phase` of `level` on a gang whose devices have classes `own`. If
/// `recompute` is above 0: those of recomputing `level` at that recomputation
/// level, without messages.
double GangBuilder::secondsOf(size_t level, size_t phase,
                              const std::vector<size_t> &own,
                              int64_t recompute) const {
  bool isMost = kind == GangTimes::Most;
  double all = isMost ? 0 : std::numeric_limits<double>::infinity();
  for (size_t shard = 0; shard < ways; ++shard) {
    double seconds = recompute ? 0 : waitOf({level, shard}, phase);
    for (int64_t number : cells[at({level, shard})]) {
      const Layer &layer = fine.layers[size_t(number)];
      const StageTimes &times = layer.times[own[shard]];
      int64_t again = std::min(recompute, int64_t(layer.levels.size()));
      seconds += (recompute    ? layer.again(again, own[shard])
                  : phase == 0 ? times.forward
                  : phase == 1 ? times.inputGradient
                               : times.weightGradient)
                     .value;
    }
    all = isMost ? std::max(all, seconds) : std::min(all, seconds);
  }
  return all;
}

} // namespace stagewright
