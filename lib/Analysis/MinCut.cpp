//===- MinCut.cpp - minimum cut of a small directed graph -----------------===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "stagewright/Analysis/MinCut.h"
#include <algorithm>

using namespace stagewright;

int MinCut::addNode() {
  first.push_back(-1);
  return first.size() - 1;
}

void MinCut::addEdge(int from, int to, int64_t capacity) {
  edges.push_back({to, first[from], capacity});
  first[from] = edges.size() - 1;
  edges.push_back({from, first[to], 0});
  first[to] = edges.size() - 1;
}

/// Computes distances from the source in the residual graph; false if the sink
/// is unreachable.
bool MinCut::findLevels() {
  level.assign(first.size(), -1);
  level[kSource] = 0;
  std::vector<int> queue = {kSource};
  for (size_t head = 0; head < queue.size(); ++head)
    for (int e = first[queue[head]]; e >= 0; e = edges[e].next)
      if (edges[e].capacity > 0 && level[edges[e].to] < 0) {
        level[edges[e].to] = level[queue[head]] + 1;
        queue.push_back(edges[e].to);
      }
  return level[kSink] >= 0;
}

/// Sends flow along one path of increasing distance from the source. Not
/// recursive, since a chain may have thousands of operations.
int64_t MinCut::push() {
  std::vector<int> path;
  int node = kSource;
  while (node != kSink) {
    int &e = cursor[node];
    while (e >= 0 &&
           (edges[e].capacity == 0 || level[edges[e].to] != level[node] + 1))
      e = edges[e].next;
    if (e >= 0) {
      path.push_back(e);
      node = edges[e].to;
      continue;
    }
    if (path.empty())
      return 0;
    // A dead end: skip the edge to it for the rest of this phase.
    node = edges[path.back() ^ 1].to;
    cursor[node] = edges[path.back()].next;
    path.pop_back();
  }
  int64_t flow = std::numeric_limits<int64_t>::max();
  for (int e : path)
    flow = std::min(flow, edges[e].capacity);
  for (int e : path) {
    edges[e].capacity -= flow;
    edges[e ^ 1].capacity += flow;
  }
  return flow;
}

int64_t MinCut::solve() {
  int64_t total = 0;
  while (findLevels()) {
    cursor = first;
    while (int64_t flow = push())
      total += flow;
  }
  return total;
}
