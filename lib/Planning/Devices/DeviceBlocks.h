//===- DeviceBlocks.h - devices that stay together --------------*- C++ -*-===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What the device orders are made of. Devices of one host that no link tells
// apart, and that are joined better to each other than to the outside, are one
// block: they stay together in every order, and 1,024 devices in hosts of eight
// are 128 vertices.
//
//===----------------------------------------------------------------------===//

#ifndef STAGEWRIGHT_LIB_PLANNING_DEVICEBLOCKS_H
#define STAGEWRIGHT_LIB_PLANNING_DEVICEBLOCKS_H

#include "stagewright/Cost/Network.h"

namespace stagewright {

using Devices = std::vector<size_t>;
/// Increasing numbers of devices; often one.
using Block = Devices;

/// The blocks of all devices, by their smallest devices. O(V^2).
std::vector<Block> blocksOf(const Network &network);

/// Whether every two of `blocks`, two or more, are joined by the same
/// bandwidth.
bool isFlat(const Network &network, const std::vector<Block> &blocks);

/// `a` and `b` one after the other, each turned so that the touching ends are
/// joined best. On ties as they are, else b turned, else a.
Devices joinEnds(const Network &network, Devices a, Devices b);

} // namespace stagewright

#endif // STAGEWRIGHT_LIB_PLANNING_DEVICEBLOCKS_H
