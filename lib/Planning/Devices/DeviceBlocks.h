//===- DeviceBlocks.h - devices that stay together --------------*- C++ -*-===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The units of the device orders. The devices of a host are one block if their
// links to each other are equal, and faster than those to other hosts. A block
// stays together in every order, so 1,024 devices in hosts of eight are only
// 128 vertices. On other hosts each device is a block.
//
//===----------------------------------------------------------------------===//

#ifndef STAGEWRIGHT_LIB_PLANNING_DEVICEBLOCKS_H
#define STAGEWRIGHT_LIB_PLANNING_DEVICEBLOCKS_H

#include "stagewright/Cost/Network.h"

namespace stagewright {

using Devices = std::vector<size_t>;
/// Increasing numbers of devices.
using Block = Devices;

/// The blocks of all devices, sorted by smallest device. O(V^2) for V devices.
std::vector<Block> blocksOf(const Network &network);

/// Whether the bandwidth between every two of `blocks` is the same. Expects at
/// least two blocks.
bool isFlat(const Network &network, const std::vector<Block> &blocks);

/// `a` followed by `b`, each reversed if that gives more bandwidth between the
/// adjacent ends. On ties neither is reversed, else only b, else only a.
Devices joinEnds(const Network &network, Devices a, Devices b);

} // namespace stagewright

#endif // STAGEWRIGHT_LIB_PLANNING_DEVICEBLOCKS_H
