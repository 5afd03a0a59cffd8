//===- GroupBandwidths.cpp - bandwidths inside groups of devices ----------===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Bounds/GroupBandwidths.h"
#include <algorithm>
#include <numeric>
#include <tuple>

namespace stagewright {

std::vector<double> groupBandwidths(const Network &network) {
  size_t count = network.size();
  std::vector<double> best(count + 1, network.largestBandwidth());
  // Build a maximum spanning tree (Prim's algorithm), then join groups along
  // its links, the fastest first.
  std::vector<double> link(count, 0);
  std::vector<size_t> from(count, 0), root(count), size(count, 1);
  std::vector<bool> isIn(count, false);
  std::vector<std::tuple<double, size_t, size_t>> tree;
  for (size_t next = 0, grown = 0; grown < count; ++grown) {
    isIn[next] = true;
    if (grown > 0)
      tree.push_back({link[next], from[next], next});
    size_t best = count;
    for (size_t v = 0; v < count; ++v) {
      if (isIn[v])
        continue;
      if (network.bandwidth(next, v) > link[v]) {
        link[v] = network.bandwidth(next, v);
        from[v] = next;
      }
      if (best == count || link[v] > link[best])
        best = v;
    }
    next = best;
  }
  std::sort(tree.rbegin(), tree.rend());
  std::iota(root.begin(), root.end(), 0);
  auto find = [&](size_t v) {
    while (root[v] != v)
      v = root[v] = root[root[v]];
    return v;
  };
  size_t largest = 1;
  for (auto [bandwidth, a, b] : tree) {
    a = find(a), b = find(b);
    root[a] = b;
    size[b] += size[a];
    for (; largest < size[b]; ++largest)
      best[largest + 1] = bandwidth;
  }
  return best;
}

} // namespace stagewright
