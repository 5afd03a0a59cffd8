//===- RoomLimits.h - how many microbatches fit -----------------*- C++ -*-===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Private to the planners: what stageMemory() of intervals of layers means for
// the devices of one kind of block. A program that looks at an interval on many
// blocks, and many programs, ask the same again.
//
//===----------------------------------------------------------------------===//

#ifndef STAGEWRIGHT_LIB_PLANNING_ROOMLIMITS_H
#define STAGEWRIGHT_LIB_PLANNING_ROOMLIMITS_H

#include "stagewright/Planning/Evaluate.h"

namespace stagewright {

class MemoryTable;

/// A device of a block.
struct Room {
  double share; ///< Of each microbatch.
  int64_t bytes;
  friend auto operator<=>(const Room &, const Room &) = default;
};

class RoomLimits {
public:
  /// `table` must outlive this, and knows `layers` layers.
  RoomLimits(const MemoryTable &table, size_t layers, int64_t microbatches,
             std::vector<Room> rooms);

  /// The most microbatches in flight with which layers [l, l2) fit, -1 where
  /// not even none does; `form`: a level, or the whole forward run again.
  /// Replicas that take turns hold whole microbatches. Found on the first call.
  int64_t most(size_t l, size_t l2, int64_t form, bool inTurn);

  /// Bytes that are missing with `inFlight`, where most are.
  double missing(size_t l, size_t l2, int64_t form, bool inTurn,
                 int64_t inFlight) const;

private:
  const MemoryTable &table;
  size_t layers;
  int64_t microbatches;
  std::vector<Room> rooms;
  std::vector<int32_t> known; ///< By form and interval; -2: not yet.
};

} // namespace stagewright

#endif // STAGEWRIGHT_LIB_PLANNING_ROOMLIMITS_H
