//===- Checker.h - accounting of live memory --------------------*- C++ -*-===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Checking mode: tracks the stash slots of one rank while it runs, and fills
// what may not be read with 0xff, which is NaN in every floating-point type.
// The peak of live bytes is compared with the one that the compiler printed.
//
//===----------------------------------------------------------------------===//

#ifndef STAGEWRIGHT_LIB_RUNTIME_MEMORY_CHECKER_H
#define STAGEWRIGHT_LIB_RUNTIME_MEMORY_CHECKER_H

#include "Memory/Layout.h"

#include <cstddef>

namespace stagewright::runtime {

/// Tracks the stash slots of one rank.
class StashSlots {
public:
  /// `rank` and `layout` must outlive it. Microbatches and buffers of calls
  /// must exist (Layout::buffer).
  StashSlots(const RankManifest &rank, const Layout &layout);

  void acquire(int64_t buffer, int64_t m);
  void release(int64_t buffer, int64_t m);
  /// Checks an access through `slot`: a stash slot must hold `m`.
  void access(int64_t buffer, int64_t m) const;
  /// Records that a node used `bytes` of workspace; throws if there are fewer.
  void useWorkspace(int64_t node, int64_t bytes);
  /// Ends a step; throws if a slot is still held.
  void end() const;

  /// Highest number of live bytes, as the compiler counts them; before the
  /// first step, those that are always live.
  int64_t peak() const { return highest; }

protected:
  static constexpr int64_t noMicrobatch = -1;
  /// Starts a step: no slot is held.
  void reset();

  const RankManifest &rank;
  const Layout &layout;
  std::vector<std::vector<int64_t>> held; ///< by buffer and slot

private:
  int64_t &holder(int64_t buffer, int64_t m);

  int64_t workspace = 0; ///< size in bytes
  int64_t live = 0, highest = 0;
};

/// Checking mode of a rank that runs.
class Checker : public StashSlots {
public:
  Checker(const RankManifest &rank, const Layout &layout, std::byte *arena)
      : StashSlots(rank, layout), arena(arena) {}

  /// Starts a step: no slot is held, and all memory that the program must write
  /// before it reads it (all that the host does not fill) is poisoned.
  void begin();
  /// Also poisons the slot.
  void release(int64_t buffer, int64_t m);
  /// Starts an action: poisons the workspace except for stash slots in use
  /// there, so that the action cannot read what the previous one left.
  void beginAction();

private:
  std::byte *arena;
};

} // namespace stagewright::runtime

#endif // STAGEWRIGHT_LIB_RUNTIME_MEMORY_CHECKER_H
