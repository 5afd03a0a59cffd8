//===- AliveSizes.h - sizes of live values along a list ---------*- C++ -*-===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Finding layers, by scopes and by structure, needs the places in a list of
// operations at which few bytes are live.
//
//===----------------------------------------------------------------------===//

#ifndef STAGEWRIGHT_LIB_ANALYSIS_ALIVESIZES_H
#define STAGEWRIGHT_LIB_ANALYSIS_ALIVESIZES_H

#include "llvm/ADT/STLFunctionalExtras.h"
#include "llvm/ADT/SmallVector.h"
#include <map>
#include <vector>

namespace stagewright::pipeline {

/// Sizes in bytes of the values that are live at each place of a list.
class AliveSizes {
public:
  /// `places`: their number.
  explicit AliveSizes(size_t places) : born(places), dead(places + 1) {}

  /// Adds a value of `size` bytes that is live from place `first` to `last`.
  void add(size_t first, size_t last, int64_t size) {
    born[first].push_back(size);
    dead[last + 1].push_back(size);
  }

  /// The live values at one place.
  struct Place {
    std::map<int64_t, unsigned, std::greater<>> counts; ///< By size.
    int64_t bytes = 0;                                  ///< Total.

    int64_t largest() const {
      return counts.empty() ? 0 : counts.begin()->first;
    }
  };

  /// Calls `visit` for every place in order.
  void sweep(llvm::function_ref<void(size_t, const Place &)> visit) const {
    Place alive;
    for (size_t place = 0; place < born.size(); ++place) {
      for (int64_t size : born[place]) {
        ++alive.counts[size];
        alive.bytes += size;
      }
      for (int64_t size : dead[place]) {
        if (--alive.counts[size] == 0)
          alive.counts.erase(size);
        alive.bytes -= size;
      }
      visit(place, alive);
    }
  }

private:
  std::vector<llvm::SmallVector<int64_t, 2>> born, dead;
};

} // namespace stagewright::pipeline

#endif // STAGEWRIGHT_LIB_ANALYSIS_ALIVESIZES_H
