//===- BlockPaths.h - short paths over fast links ---------------*- C++ -*-===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The boundaries of a pipeline are links between neighbours in the device list,
// so a good list is a short path over fast links: the travelling salesman
// problem without the return. Greedy paths are improved by reversing a part
// (2-opt) and by moving one block (or-opt) until no change is cheaper, in a
// limited number of sweeps.
//
//===----------------------------------------------------------------------===//

#ifndef STAGEWRIGHT_LIB_PLANNING_BLOCKPATHS_H
#define STAGEWRIGHT_LIB_PLANNING_BLOCKPATHS_H

#include "Devices/DeviceBlocks.h"

namespace stagewright {

/// A path over all blocks: their indices in order.
struct BlockPath {
  double cost = 0;
  std::vector<size_t> blocks;
};

/// Paths from at most `most` starts, spread over the blocks, each improved by
/// local changes; sorted by cost, then by indices. A step between two blocks
/// costs (fastest bandwidth / bandwidth of its link)^power: with power 1 the
/// cost is proportional to the path's seconds per byte, with a large power its
/// slowest link decides. O(V^2) per start and sweep for V blocks.
std::vector<BlockPath> shortBlockPaths(const Network &network,
                                       const std::vector<Block> &blocks,
                                       int power, size_t most);

} // namespace stagewright

#endif // STAGEWRIGHT_LIB_PLANNING_BLOCKPATHS_H
