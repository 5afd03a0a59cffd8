//===- MarkedGraph.cpp - cycles without a token ---------------------------===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "stagewright/Scheduling/MarkedGraph.h"
#include <algorithm>

namespace stagewright {

/// Removes transitions that no empty place leads to, until none is left or
/// empty places lead from an empty cycle to all that are left; then follows
/// empty places backwards until a transition repeats.
std::vector<size_t> findEmptyCycle(const MarkedGraph &graph) {
  std::vector<std::vector<size_t>> into(graph.transitions),
      outOf(graph.transitions);
  for (size_t place = 0; place < graph.places.size(); ++place)
    if (graph.places[place].tokens == 0) {
      into[graph.places[place].to].push_back(place);
      outOf[graph.places[place].from].push_back(place);
    }
  std::vector<size_t> blocked(graph.transitions), ready;
  for (size_t t = 0; t < graph.transitions; ++t)
    if ((blocked[t] = into[t].size()) == 0)
      ready.push_back(t);
  while (!ready.empty()) {
    size_t t = ready.back();
    ready.pop_back();
    for (size_t place : outOf[t])
      if (--blocked[graph.places[place].to] == 0)
        ready.push_back(graph.places[place].to);
  }
  auto stuck = std::find_if(blocked.begin(), blocked.end(),
                            [](size_t places) { return places > 0; });
  if (stuck == blocked.end())
    return {};
  std::vector<size_t> path, seenAt(graph.transitions, SIZE_MAX);
  size_t t = size_t(stuck - blocked.begin());
  while (seenAt[t] == SIZE_MAX) {
    seenAt[t] = path.size();
    size_t before =
        *std::find_if(into[t].begin(), into[t].end(), [&](size_t place) {
          return blocked[graph.places[place].from] > 0;
        });
    path.push_back(before);
    t = graph.places[before].from;
  }
  path.erase(path.begin(), path.begin() + std::ptrdiff_t(seenAt[t]));
  std::reverse(path.begin(), path.end());
  return path;
}

} // namespace stagewright
