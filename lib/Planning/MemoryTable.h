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
  /// Without `recompute` of stages that keep everything only.
  MemoryTable(const Problem &problem, bool recompute);

  /// What layers [first, end) hold.
  const StageMemory &of(size_t first, size_t end, bool recompute) const {
    const std::vector<std::vector<StageMemory>> &all = table[recompute];
    return all[first][end - first - 1];
  }

private:
  void fill(const Problem &problem, bool recompute);

  std::vector<std::vector<StageMemory>> table[2];
};

} // namespace stagewright

#endif // STAGEWRIGHT_PLANNING_MEMORYTABLE_H
