//===- GroupBandwidths.h - links among several devices ----------*- C++ -*-===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Private to this room: how fast what all devices of a group share can be.
//
//===----------------------------------------------------------------------===//

#ifndef STAGEWRIGHT_PLANNING_BOUNDS_GROUPBANDWIDTHS_H
#define STAGEWRIGHT_PLANNING_BOUNDS_GROUPBANDWIDTHS_H

#include "stagewright/Cost/Network.h"
#include <vector>

namespace stagewright {

/// Between any two of r devices lies a link no faster than entry r, in bytes
/// per second: where devices are joined from the fastest link down, it is the
/// link that first makes a group of r.
std::vector<double> groupBandwidths(const Network &network);

} // namespace stagewright

#endif // STAGEWRIGHT_PLANNING_BOUNDS_GROUPBANDWIDTHS_H
