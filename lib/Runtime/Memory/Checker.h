//===- Checker.h - accounting of live memory --------------------*- C++ -*-===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Checking mode: records, for one rank, which stash slot holds which microbatch
// and how many bytes are live. It detects a slot acquired twice, a slot used
// after its release (released slots are filled with 0xff, which is NaN in every
// floating-point type) and a slot never released. It measures the peak, which
// is compared with the one that the compiler printed.
//
//===----------------------------------------------------------------------===//

#ifndef STAGEWRIGHT_LIB_RUNTIME_MEMORY_CHECKER_H
#define STAGEWRIGHT_LIB_RUNTIME_MEMORY_CHECKER_H

#include "Memory/Layout.h"

#include <cstddef>

namespace stagewright::runtime {

class Checker {
public:
  Checker(const RankManifest &rank, const Layout &layout, std::byte *arena);

  /// Starts a step: no slot is held, and all memory that the program must write
  /// before it reads it (all that the host does not fill) is poisoned.
  void begin();
  void acquire(int64_t buffer, int64_t m);
  void release(int64_t buffer, int64_t m);
  /// Checks an access through `slot`: a stash slot must hold `m`.
  void access(int64_t buffer, int64_t m) const;
  /// Starts an action: poisons the workspace except for stash slots in use
  /// there, so that the action cannot read what the previous one left.
  void beginAction();
  /// Records that a node used `bytes` of workspace; throws if there are fewer.
  void useWorkspace(int64_t node, int64_t bytes);
  /// Ends a step; throws if a slot is still held.
  void end() const;

  /// Highest number of live bytes since `begin`.
  int64_t peak() const { return highest; }

private:
  int64_t &holder(int64_t buffer, int64_t m);

  const RankManifest &rank;
  const Layout &layout;
  std::byte *arena;
  std::vector<std::vector<int64_t>> held; ///< by buffer and slot; -1: free
  int64_t workspace = 0;                  ///< size in bytes
  int64_t live = 0, highest = 0;
};

} // namespace stagewright::runtime

#endif // STAGEWRIGHT_LIB_RUNTIME_MEMORY_CHECKER_H
