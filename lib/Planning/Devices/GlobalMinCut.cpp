//===- GlobalMinCut.cpp - minimum cut of a weighted graph -----------------===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Devices/GlobalMinCut.h"
#include <limits>

namespace stagewright {

namespace {
/// The last two vertices of a maximum adjacency order, and the weight of all
/// edges of the last one.
struct Phase {
  size_t before = 0, last = 0;
  double cut = 0;
};
} // namespace

/// Adds the vertices of `alive` one by one, each time the one with the largest
/// weight of edges to those added, or the first of several.
static Phase runPhase(size_t count, const std::vector<double> &weights,
                      const std::vector<size_t> &alive) {
  std::vector<double> key(alive.size(), 0);
  std::vector<bool> added(alive.size(), false);
  Phase phase;
  for (size_t step = 0; step < alive.size(); ++step) {
    size_t next = alive.size();
    for (size_t i = 0; i < alive.size(); ++i)
      if (!added[i] && (next == alive.size() || key[i] > key[next]))
        next = i;
    added[next] = true;
    phase = {phase.last, alive[next], key[next]};
    const double *row = &weights[alive[next] * count];
    for (size_t i = 0; i < alive.size(); ++i)
      if (!added[i])
        key[i] += row[alive[i]];
  }
  return phase;
}

GraphCut globalMinCut(size_t count, std::vector<double> weights) {
  std::vector<size_t> alive(count);
  std::vector<std::vector<size_t>> members(count);
  for (size_t v = 0; v < count; ++v) {
    alive[v] = v;
    members[v] = {v};
  }
  GraphCut best{std::numeric_limits<double>::infinity(), {}};
  while (alive.size() > 1) {
    Phase phase = runPhase(count, weights, alive);
    if (phase.cut < best.weight) {
      best = {phase.cut, std::vector<bool>(count, false)};
      for (size_t v : members[phase.last])
        best.side[v] = true;
    }
    for (size_t v : alive)
      weights[phase.before * count + v] = weights[v * count + phase.before] +=
          weights[phase.last * count + v];
    std::vector<size_t> &group = members[phase.before];
    group.insert(group.end(), members[phase.last].begin(),
                 members[phase.last].end());
    std::erase(alive, phase.last);
  }
  return best;
}

} // namespace stagewright
