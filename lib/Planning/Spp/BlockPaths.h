//===- BlockPaths.h - paths over well joined devices ------------*- C++ -*-===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A pipeline's boundaries lie on the links between neighbours of the device
// order, so a good order is a path over fast links: a travelling salesman's,
// without the way back. Paths start greedily and are improved by turning a part
// (2-opt) and by moving one block (or-opt) until nothing helps.
//
//===----------------------------------------------------------------------===//

#ifndef STAGEWRIGHT_LIB_PLANNING_BLOCKPATHS_H
#define STAGEWRIGHT_LIB_PLANNING_BLOCKPATHS_H

#include "Devices/DeviceBlocks.h"

namespace stagewright {

/// A path over all blocks, by their indices.
struct BlockPath {
  double cost = 0;
  std::vector<size_t> blocks;
};

/// Paths from at most `most` starts, spread over the blocks, each as cheap as
/// local changes make it; cheapest first, then by numbers. A step from block to
/// block costs (fastest link / its bandwidth)^power: with power 1 the sum of
/// seconds a byte, with a large one nearly the slowest link alone. O(V^2) a
/// start and sweep.
std::vector<BlockPath> shortBlockPaths(const Network &network,
                                       const std::vector<Block> &blocks,
                                       int power, size_t most);

} // namespace stagewright

#endif // STAGEWRIGHT_LIB_PLANNING_BLOCKPATHS_H
