//===- Replay.h - memory of a learner, drawn by priority --------*- C++ -*-===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Private to this folder. Holds the last `capacity` entries; entry i is drawn
// with probability p_i / sum p. A tree of sums makes drawing and changing a
// priority logarithmic.
//
// Source: Schaul et al., "Prioritized Experience Replay" (2016).
//
//===----------------------------------------------------------------------===//

#ifndef STAGEWRIGHT_LIB_PLANNING_REPLAY_H
#define STAGEWRIGHT_LIB_PLANNING_REPLAY_H

#include "stagewright/Planning/Search.h"

namespace stagewright {

template <typename Entry> class Replay {
public:
  explicit Replay(size_t capacity) : capacity(capacity), sums(2 * capacity) {}

  size_t size() const { return entries.size(); }
  const Entry &operator[](size_t number) const { return entries[number]; }
  /// The probability with which entry `number` is drawn.
  double chance(size_t number) const {
    return sums[capacity + number] / sums[1];
  }

  /// Adds an entry, in place of the oldest one if `capacity` is reached.
  void add(Entry entry, double priority) {
    if (entries.size() < capacity)
      entries.push_back(std::move(entry));
    else
      entries[next] = std::move(entry);
    setPriority(next, priority);
    next = (next + 1) % capacity;
  }

  void setPriority(size_t number, double priority) {
    size_t node = capacity + number;
    sums[node] = priority;
    while (node /= 2)
      sums[node] = sums[2 * node] + sums[2 * node + 1];
  }

  /// The number of a random entry; there must be one.
  size_t draw(SearchRandom &random) const {
    double left = random.real() * sums[1];
    size_t node = 1;
    while (node < capacity) {
      node *= 2;
      if (left >= sums[node] && sums[node + 1] > 0)
        left -= sums[node++];
    }
    return std::min(node - capacity, entries.size() - 1);
  }

private:
  size_t capacity, next = 0;
  std::vector<Entry> entries;
  std::vector<double>
      sums; ///< Of node n: sums[2n] + sums[2n + 1]; leaves last.
};

} // namespace stagewright

#endif // STAGEWRIGHT_LIB_PLANNING_REPLAY_H
