//===- StashFrames.h - slots of stashes, each with its own life -*- C++ -*-===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Where a rank runs several stages, their rings are not full at the same time:
// while one stage fills, another drains. A program of one number of
// microbatches knows when each slot is held, so each may lie where another
// stage's has just been given back. What is acquired in one action and released
// in one other action is one frame; its buffers lie in it one after the other,
// and every microbatch's frame has a place of its own. A life counts whole
// actions, as the planner counts it (Planning/Placed/RankMemory.h), so that
// both find the same bytes.
//
//===----------------------------------------------------------------------===//

#ifndef STAGEWRIGHT_LIB_CONVERSION_RANKTOHOST_STASHFRAMES_H
#define STAGEWRIGHT_LIB_CONVERSION_RANKTOHOST_STASHFRAMES_H

#include "stagewright/Dialect/Rank/IR/Rank.h"
#include "stagewright/Dialect/Rank/Transforms/Memory.h"
#include "stagewright/Support/Packing.h"
#include <map>
#include <optional>

namespace stagewright::host {

class StashFrames {
public:
  explicit StashFrames(rank::ProgramOp program);
  /// Adds the lives of the run for which `program` is.
  void read(const rank::RankEvents &events);
  /// What all frames take together; nothing for a program of any number of
  /// microbatches, or one that no stash of a fixed depth is in.
  std::optional<int64_t> bytes(LifePacker &packer);
  /// Places them in the workspace from byte `first` on, as `bytes` found.
  void place(int64_t first);

private:
  /// Buffers that are held from the same action to the same action, for every
  /// microbatch.
  struct Frame {
    llvm::SmallVector<rank::BufferOp> buffers;
    int64_t bytes = 0;
    size_t first = 0; ///< Of its items, one for each microbatch held.
  };
  using Held = std::map<int64_t, Life>; ///< By microbatch, in actions.

  bool isOnly;
  llvm::MapVector<mlir::Operation *, Held> held;
  std::map<std::vector<int64_t>, Frame> frames; ///< By their lives.
  std::vector<PackItem> items;
};

} // namespace stagewright::host

#endif // STAGEWRIGHT_LIB_CONVERSION_RANKTOHOST_STASHFRAMES_H
