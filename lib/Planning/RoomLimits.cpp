//===- RoomLimits.cpp - max microbatches in flight that fit ---------------===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "RoomLimits.h"
#include "MemoryTable.h"
#include <algorithm>
#include <limits>

namespace stagewright {

static constexpr int32_t kUnknown = -2;

RoomLimits::RoomLimits(const MemoryTable &table, size_t layers,
                       int64_t microbatches, std::vector<Room> rooms)
    : table(table), layers(layers), microbatches(microbatches),
      rooms(std::move(rooms)),
      known(size_t(table.numForms()) * layers * layers) {
  for (std::atomic<int32_t> &entry : known)
    entry.store(kUnknown, std::memory_order_relaxed);
}

double RoomLimits::missing(size_t l, size_t l2, int64_t form, bool inTurn,
                           int64_t inFlight) const {
  const StageMemory &memory = table.at(l, l2, form);
  double most = -std::numeric_limits<double>::infinity();
  for (const Room &room : rooms)
    most = std::max(
        most,
        double(memory.with(inFlight, microbatches, inTurn ? 1 : room.share)
                   .value) -
            double(room.bytes));
  return most;
}

int64_t RoomLimits::most(size_t l, size_t l2, int64_t form, bool inTurn) {
  std::atomic<int32_t> &entry =
      known[(size_t(form) * layers + l) * layers + l2 - 1];
  if (int32_t found = entry.load(std::memory_order_relaxed); found != kUnknown)
    return found;
  auto fits = [&](int64_t inFlight) {
    return missing(l, l2, form, inTurn, inFlight) <= 0;
  };
  int64_t low = -1;
  int64_t high = std::min<int64_t>(microbatches, int64_t(1) << 30);
  if (fits(high))
    low = high;
  // Invariant: `low` fits (or is -1), `high` does not.
  while (low + 1 < high) {
    int64_t middle = low + (high - low) / 2;
    (fits(middle) ? low : high) = middle;
  }
  entry.store(int32_t(low), std::memory_order_relaxed);
  return low;
}

} // namespace stagewright
