//===- PrmBlocks.h - what a stage may take of a device list -----*- C++ -*-===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A planner of chains gives each stage the next devices of a list. A block is
// one such run of devices, named by how many devices it and all behind it take
// and by its width; a pair is a block and the block of the next stage.
//
// On a large cluster only some runs are offered: parts of a host whose size is
// a power of two, and runs of whole hosts, of every number up to 16 and then in
// steps of an eighth.
//
//===----------------------------------------------------------------------===//

#ifndef STAGEWRIGHT_PLANNING_PRMBLOCKS_H
#define STAGEWRIGHT_PLANNING_PRMBLOCKS_H

#include "Spp/ChainCosts.h"

namespace stagewright {

/// Devices from which every run is a block.
inline constexpr size_t kMostDevicesOfAllRuns = 128;

struct PrmBlock {
  size_t used = 0;  ///< Devices of this block and all behind it.
  size_t width = 0; ///< Devices of this block.
  size_t start = 0; ///< Place of its first device in the list.
  /// The replica that takes longest on the whole chain: F of an interval is
  /// `share` times the sum of its class.
  size_t deviceClass = 0;
  double share = 1;
  /// All-reduce of a layer's gradients of p > 0 bytes:
  /// reducePerByte * p + reduceLatency.
  double reducePerByte = 0, reduceLatency = 0;
  /// The same for an interval that cannot be sliced: a replica runs every
  /// width-th microbatch, rounded up, as a part of all.
  double turnShare = 1;
  /// Blocks that may follow: [nextBegin, nextEnd); the pair with the k-th of
  /// them is pairs[pairBegin + k].
  size_t nextBegin = 0, nextEnd = 0, pairBegin = 0;
};

/// A channel of b > 0 bytes takes perByte * b + latency.
struct PrmPair {
  double perByte = 0, latency = 0;
};

/// All blocks of a list of devices, by increasing `used`, then by width.
struct PrmBlocks {
  PrmBlocks() = default;
  /// With `byHost` only the runs that a large cluster offers; with `only` those
  /// of as many devices, one behind the other.
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
