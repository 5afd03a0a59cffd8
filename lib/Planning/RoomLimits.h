//===- RoomLimits.h - max microbatches in flight that fit -------*- C++ -*-===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Private to the planners: how many microbatches in flight fit when an interval
// of layers is on the devices of one kind of block, by stageMemory(). Results
// are cached: dynamic programs ask for an interval on many blocks.
//
//===----------------------------------------------------------------------===//

#ifndef STAGEWRIGHT_LIB_PLANNING_ROOMLIMITS_H
#define STAGEWRIGHT_LIB_PLANNING_ROOMLIMITS_H

#include "stagewright/Planning/Evaluate.h"
#include <atomic>

namespace stagewright {

class MemoryTable;

/// The memory of a device of a block.
struct Room {
  double share; ///< The device's part of each microbatch.
  int64_t bytes;
  friend auto operator<=>(const Room &, const Room &) = default;
};

class RoomLimits {
public:
  /// `table` must outlive this and cover `layers` layers.
  RoomLimits(const MemoryTable &table, size_t layers, int64_t microbatches,
             std::vector<Room> rooms);

  /// The max microbatches in flight with which layers [l, l2) fit; -1 if they
  /// do not fit even with 0. `form`: see MemoryTable::numForms(). With `inTurn`
  /// replicas hold whole microbatches. Computed on first use.
  int64_t most(size_t l, size_t l2, int64_t form, bool inTurn);

  /// Bytes by which `inFlight` microbatches exceed the memory, max over the
  /// devices; negative or 0 if they fit.
  double missing(size_t l, size_t l2, int64_t form, bool inTurn,
                 int64_t inFlight) const;

private:
  const MemoryTable &table;
  size_t layers;
  int64_t microbatches;
  std::vector<Room> rooms;
  /// By form and interval; -2: not computed. Any thread may compute it.
  std::vector<std::atomic<int32_t>> known;
};

} // namespace stagewright

#endif // STAGEWRIGHT_LIB_PLANNING_ROOMLIMITS_H
