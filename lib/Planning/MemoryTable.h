//===- MemoryTable.h - memory of every interval of layers -------*- C++ -*-===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Private to the planners: stageMemory() of all intervals at once, in
// O(L (L + N)) for L layers and N uses of values and residents.
//
//===----------------------------------------------------------------------===//

#ifndef STAGEWRIGHT_PLANNING_MEMORYTABLE_H
#define STAGEWRIGHT_PLANNING_MEMORYTABLE_H

#include "RoomLimits.h"
#include <map>
#include <mutex>

namespace stagewright {

class MemoryTable {
public:
  /// Covers stages that keep everything; with `recompute` also those whose
  /// layers are all at one level, and those that repeat their whole forward.
  MemoryTable(const Problem &problem, bool recompute);

  /// Number of forms of a stage. Form 0 keeps everything. With `recompute`,
  /// form k up to mostLevels() has all layers at level k (layers with fewer
  /// levels at their highest), and the next form repeats the whole forward. If
  /// a device may offload, everything is offloaded in the last form.
  int64_t numForms() const { return int64_t(forms.size()); }
  int64_t mostLevels() const { return levels; }
  int64_t wholeForm() const { return levels + 1; }
  /// The form in which everything is kept in host memory; -1 if no device may
  /// offload.
  int64_t offloadForm() const { return offloaded; }

  /// What layers [first, end) hold.
  const StageMemory &at(size_t first, size_t end, int64_t form) const {
    return forms[form][first][end - first - 1];
  }

  /// What fits on the devices `rooms`, created on first use, by any thread.
  /// `turns`: replicas may take turns.
  RoomLimits &limits(const std::vector<Room> &rooms, bool turns) const;

private:
  using Table = std::vector<std::vector<StageMemory>>;
  static Table fill(const Problem &problem, bool recompute, int64_t level,
                    bool offload = false);

  std::vector<Table> forms;
  int64_t levels = 0, offloaded = -1, microbatches;
  mutable std::mutex mutex;
  mutable std::map<std::pair<std::vector<Room>, bool>, RoomLimits> known;
};

} // namespace stagewright

#endif // STAGEWRIGHT_PLANNING_MEMORYTABLE_H
