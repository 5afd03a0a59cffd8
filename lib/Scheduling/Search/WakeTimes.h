//===- WakeTimes.h - the rank with the earliest time ------------*- C++ -*-===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A tournament tree of one time per rank, with the earliest at its root: an
// event queue with one event per rank. Ties go to the lower rank.
//
//===----------------------------------------------------------------------===//

#ifndef STAGEWRIGHT_LIB_SCHEDULING_SEARCH_WAKETIMES_H
#define STAGEWRIGHT_LIB_SCHEDULING_SEARCH_WAKETIMES_H

#include "Search/FastTiming.h"
#include <limits>

namespace stagewright::search {

inline constexpr Ticks kNever = std::numeric_limits<Ticks>::max();

class WakeTimes {
public:
  explicit WakeTimes(int32_t ranks) {
    while (leaves < ranks)
      leaves *= 2;
    times.assign(leaves, kNever);
    winners.assign(2 * leaves, 0);
    for (int32_t node = 2 * leaves; node-- > 1;)
      winners[node] = node >= leaves ? node - leaves : winners[2 * node];
  }

  Ticks of(int32_t rank) const { return times[rank]; }

  void set(int32_t rank, Ticks time) {
    times[rank] = time;
    for (int32_t node = (leaves + rank) / 2; node > 0; node /= 2) {
      int32_t left = winners[2 * node], right = winners[2 * node + 1];
      winners[node] = times[right] < times[left] ? right : left;
    }
  }

  /// The smallest time and its rank.
  std::pair<Ticks, int32_t> first() const {
    int32_t rank = winners[1];
    return {times[rank], rank};
  }

private:
  int32_t leaves = 1;
  std::vector<Ticks> times;
  std::vector<int32_t> winners; ///< Node n has children 2 n and 2 n + 1.
};

} // namespace stagewright::search

#endif // STAGEWRIGHT_LIB_SCHEDULING_SEARCH_WAKETIMES_H
