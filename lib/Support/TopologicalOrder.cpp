//===- TopologicalOrder.cpp - orders of the nodes of a graph --------------===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "stagewright/Support/TopologicalOrder.h"
#include <algorithm>
#include <set>
#include <utility>

namespace stagewright {

std::vector<size_t> topologicalOrder(const Successors &next,
                                     const std::vector<int64_t> &rank) {
  std::vector<size_t> waits(next.size()), order;
  for (const std::vector<size_t> &list : next)
    for (size_t to : list)
      ++waits[to];
  std::set<std::pair<int64_t, size_t>> ready;
  auto add = [&](size_t node) {
    ready.insert({rank.empty() ? 0 : rank[node], node});
  };
  for (size_t node = 0; node < next.size(); ++node)
    if (waits[node] == 0)
      add(node);
  while (!ready.empty()) {
    order.push_back(ready.begin()->second);
    ready.erase(ready.begin());
    for (size_t to : next[order.back()])
      if (--waits[to] == 0)
        add(to);
  }
  return order;
}

std::optional<size_t> firstLeftOut(const std::vector<size_t> &order,
                                   size_t count) {
  std::vector<bool> listed(count);
  for (size_t node : order)
    listed[node] = true;
  auto found = std::find(listed.begin(), listed.end(), false);
  if (found == listed.end())
    return std::nullopt;
  return size_t(found - listed.begin());
}

} // namespace stagewright
