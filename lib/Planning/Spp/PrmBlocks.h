//===- PrmBlocks.h - blocks of a device list --------------------*- C++ -*-===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A planner of chains assigns consecutive devices of a list to each stage. A
// block is one such run, identified by its width and by `used`, the devices of
// it and of all blocks after it. A pair is a block and that of the next stage.
//
// On a large cluster only some runs are blocks: the whole list, aligned parts
// of a host whose size is a power of two, runs as wide as an asked stage, and
// runs of whole hosts: any number of hosts up to 16, above that numbers in
// steps of at most 1/8.
//
//===----------------------------------------------------------------------===//

#ifndef STAGEWRIGHT_PLANNING_PRMBLOCKS_H
#define STAGEWRIGHT_PLANNING_PRMBLOCKS_H

#include "stagewright/Planning/ChainCosts.h"

namespace stagewright {

/// Max devices of a list of which every run is a block.
inline constexpr size_t kMostDevicesOfAllRuns = 128;

struct PrmBlock {
  size_t used = 0;  ///< Devices of this block and all after it.
  size_t width = 0; ///< Devices of this block.
  size_t start = 0; ///< Place of its first device in the list.
  /// Class and share of the replica that would take longest for all layers. The
  /// time of an interval is `share` times the sum for that class.
  size_t deviceClass = 0;
  double share = 1;
  /// Seconds to all-reduce a layer's gradients of p > 0 bytes:
  /// reducePerByte * p + reduceLatency.
  double reducePerByte = 0, reduceLatency = 0;
  /// `share` for an interval that cannot be sliced. A replica runs every
  /// width-th microbatch: this is its part of all microbatches, rounded up to
  /// whole ones, and scaled to the slowest device of the block.
  double turnShare = 1;
  /// Blocks that may follow: [nextBegin, nextEnd). The pair with the k-th of
  /// them is pairs[pairBegin + k].
  size_t nextBegin = 0, nextEnd = 0, pairBegin = 0;
};

/// Sending b > 0 bytes takes perByte * b + latency seconds.
struct PrmPair {
  double perByte = 0, latency = 0;
};

/// All blocks of a list of devices, by increasing `used`, then by width.
struct PrmBlocks {
  PrmBlocks() = default;
  /// With `byHost` only the runs used on large clusters; with `only` > 0 only
  /// consecutive runs of `only` devices that do not overlap.
  PrmBlocks(const Problem &problem, const Network &network,
            const ChainCosts &costs, std::vector<size_t> order,
            bool byHost = false, size_t only = 0);

  size_t devices = 0;
  std::vector<size_t> order; ///< The list; empty for the family's blocks.
  std::vector<PrmBlock> blocks;
  std::vector<PrmPair> pairs;
  size_t maxWidth = 0; ///< Widest block allowed.
};

} // namespace stagewright

#endif // STAGEWRIGHT_PLANNING_PRMBLOCKS_H
