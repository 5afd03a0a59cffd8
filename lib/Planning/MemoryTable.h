//===- MemoryTable.h - bytes of every interval of layers --------*- C++ -*-===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Private to the planners: stageMemory() of all intervals at once, in
// O(L (L + N)) for N uses of values and residents.
//
//===----------------------------------------------------------------------===//

#ifndef STAGEWRIGHT_PLANNING_MEMORYTABLE_H
#define STAGEWRIGHT_PLANNING_MEMORYTABLE_H

#include "stagewright/Planning/Evaluate.h"

namespace stagewright {

class MemoryTable {
public:
  /// Of stages that keep everything; with `recompute` also of those that keep
  /// only what they receive, and of those whose layers are all at one level.
  MemoryTable(const Problem &problem, bool recompute);

  /// What layers [first, end) hold.
  const StageMemory &of(size_t first, size_t end, bool recompute) const {
    return find(recompute ? again : levels.front(), first, end);
  }
  /// With every layer at `level`, or its own highest.
  const StageMemory &at(size_t first, size_t end, int64_t level) const {
    return find(levels[level], first, end);
  }
  int64_t mostLevels() const { return int64_t(levels.size()) - 1; }

private:
  using Table = std::vector<std::vector<StageMemory>>;
  static Table fill(const Problem &problem, bool recompute, int64_t level);
  static const StageMemory &find(const Table &table, size_t first, size_t end) {
    return table[first][end - first - 1];
  }

  std::vector<Table> levels;
  Table again;
};

} // namespace stagewright

#endif // STAGEWRIGHT_PLANNING_MEMORYTABLE_H
