//===- DeviceOrder.cpp - order in which stages take devices ---------------===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Recursive device ordering.
//
//===----------------------------------------------------------------------===//

#include "stagewright/Planning/DeviceOrder.h"
#include "Devices/DeviceBlocks.h"
#include "Devices/GlobalMinCut.h"
#include <algorithm>

namespace stagewright {

/// Max number of vertices for a minimum cut, in O(V^3); 128 take 0.2 s. Larger
/// graphs are cut at the lightest edge of a maximum spanning tree, in O(V^2).
static constexpr size_t kMostCutVertices = 128;

/// Splits at the lightest edge of a maximum spanning tree: true for blocks that
/// are not on the side of block 0.
static std::vector<bool> weakestSplit(const Network &network,
                                      const std::vector<Block> &blocks) {
  size_t count = blocks.size();
  std::vector<double> best(count, 0);
  std::vector<size_t> parent(count, 0), order = {0};
  std::vector<bool> joined(count, false);
  joined[0] = true;
  size_t weakest = 0;
  while (order.size() < count) {
    size_t last = order.back(), next = count;
    for (size_t b = 0; b < count; ++b) {
      if (joined[b])
        continue;
      double bandwidth = network.bandwidth(blocks[last][0], blocks[b][0]);
      if (bandwidth > best[b]) {
        best[b] = bandwidth;
        parent[b] = last;
      }
      if (next == count || best[b] > best[next])
        next = b;
    }
    joined[next] = true;
    order.push_back(next);
    if (weakest == 0 || best[next] < best[weakest])
      weakest = next;
  }
  std::vector<bool> away(count, false);
  away[weakest] = true;
  for (size_t block : order)
    if (block != 0 && away[parent[block]])
      away[block] = true;
  return away;
}

/// The side of each block in a minimum cut: false for the side of block 0.
static std::vector<bool> split(const Network &network,
                               const std::vector<Block> &blocks) {
  if (blocks.size() > kMostCutVertices)
    return weakestSplit(network, blocks);
  size_t count = blocks.size();
  std::vector<double> weights(count * count, 0);
  for (size_t a = 0; a < count; ++a)
    for (size_t b = 0; b < count; ++b)
      if (a != b)
        weights[a * count + b] = network.bandwidth(blocks[a][0], blocks[b][0]) *
                                 double(blocks[a].size() * blocks[b].size());
  std::vector<bool> side = globalMinCut(count, std::move(weights)).side;
  if (side[0])
    side.flip();
  return side;
}

/// Orders the devices of `blocks`, which are sorted.
static Devices orderOf(const Network &network, std::vector<Block> blocks) {
  if (blocks.size() == 1)
    return std::move(blocks[0]);
  if (isFlat(network, blocks)) {
    Devices order;
    for (const Block &block : blocks)
      order.insert(order.end(), block.begin(), block.end());
    return order;
  }
  std::vector<bool> away = split(network, blocks);
  std::vector<Block> near, far;
  for (size_t b = 0; b < blocks.size(); ++b)
    (away[b] ? far : near).push_back(std::move(blocks[b]));
  return joinEnds(network, orderOf(network, std::move(near)),
                  orderOf(network, std::move(far)));
}

std::vector<size_t> recursiveOrder(const Network &network) {
  if (network.size() == 0)
    return {};
  return orderOf(network, blocksOf(network));
}

} // namespace stagewright
