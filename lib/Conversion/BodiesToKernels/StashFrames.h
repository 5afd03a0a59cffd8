//===- StashFrames.h - place stash slots by lifetime ------------*- C++ -*-===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// If a rank runs several stages, their rings are not full at the same time:
// while one stage fills, another drains. If the number of microbatches is
// fixed, the actions in which each slot is held are known, so a slot can use
// bytes that a slot of another stage has just released. Buffers acquired in the
// same action and released in the same action form a frame, in which they are
// contiguous; the frame of every microbatch has its own place. Lifetimes are
// counted in whole actions, as by the planner (Planning/Placed/RankMemory.h),
// so that both compute the same bytes.
//
//===----------------------------------------------------------------------===//

#ifndef STAGEWRIGHT_LIB_CONVERSION_BODIESTOKERNELS_STASHFRAMES_H
#define STAGEWRIGHT_LIB_CONVERSION_BODIESTOKERNELS_STASHFRAMES_H

#include "stagewright/Dialect/Rank/IR/Rank.h"
#include "stagewright/Dialect/Rank/Transforms/ProgramMemory.h"
#include "stagewright/Support/Packing.h"
#include <map>
#include <optional>

namespace stagewright::bodies {

class StashFrames {
public:
  explicit StashFrames(rank::ProgramOp program);
  /// Adds the lifetimes of slots in `events`, the events of `program`.
  void read(const rank::RankEvents &events);
  /// The bytes of all packed frames; nothing if the number of microbatches or
  /// the order of the actions is not fixed, or if no stash has a fixed depth.
  std::optional<int64_t> bytes(LifePacker &packer);
  /// Places the frames that `bytes` packed, from byte `first` of the workspace
  /// on.
  void place(int64_t first);

private:
  /// Buffers with the same lifetime, in actions, for every microbatch.
  struct Frame {
    llvm::SmallVector<rank::BufferOp> buffers;
    int64_t bytes = 0;
    size_t first = 0; ///< Its first item; it has one per microbatch.
  };
  using Held = std::map<int64_t, Life>; ///< By microbatch: lifetime.

  bool isOnly;
  llvm::MapVector<mlir::Operation *, Held> held;
  std::map<std::vector<int64_t>, Frame> frames; ///< By their lifetimes.
  std::vector<PackItem> items;
};

} // namespace stagewright::bodies

#endif // STAGEWRIGHT_LIB_CONVERSION_BODIESTOKERNELS_STASHFRAMES_H
