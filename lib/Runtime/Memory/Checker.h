//===- Checker.h - the account of live memory -------------------*- C++ -*-===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Checking mode: one account per rank of which stash slot holds which
// microbatch and how many bytes live at a time. It finds a slot taken twice, a
// slot used after its release (released slots are filled with 0xff, which is
// NaN in every floating-point type), a slot never given back, and a high-water
// mark that is not what the compiler printed.
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

  /// Start of a step: nothing is held, and what a program must write before
  /// it reads (everything but the arguments) is poisoned.
  void begin();
  void acquire(int64_t buffer, int64_t m);
  void release(int64_t buffer, int64_t m);
  /// An access through `slot`: a stash slot must hold `m`.
  void access(int64_t buffer, int64_t m) const;
  /// An action begins: nothing may be left from the last one in workspace but
  /// stashes that are held there.
  void beginAction();
  /// A node has used `bytes` of workspace.
  void useWorkspace(int64_t node, int64_t bytes);
  /// End of a step: throws when a slot is still held.
  void end() const;

  /// Highest number of live bytes since `begin`.
  int64_t peak() const { return highest; }

private:
  int64_t &holder(int64_t buffer, int64_t m);

  const RankManifest &rank;
  const Layout &layout;
  std::byte *arena;
  std::vector<std::vector<int64_t>> held; ///< by buffer and slot; -1: free
  int64_t workspace = 0;                  ///< bytes there are
  int64_t live = 0, highest = 0;
};

} // namespace stagewright::runtime

#endif // STAGEWRIGHT_LIB_RUNTIME_MEMORY_CHECKER_H
