//===- GroupBandwidths.h - bandwidths in groups of devices ------*- C++ -*-===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Private to this folder: upper bounds on the slowest link in a group of
// devices, for collectives over the group.
//
//===----------------------------------------------------------------------===//

#ifndef STAGEWRIGHT_PLANNING_BOUNDS_GROUPBANDWIDTHS_H
#define STAGEWRIGHT_PLANNING_BOUNDS_GROUPBANDWIDTHS_H

#include "stagewright/Cost/Network.h"
#include <vector>

namespace stagewright {

/// Entry r: in every group of r devices some link is no faster than this, in
/// bytes per second. If devices are joined by links from the fastest link down,
/// it is the bandwidth of the link that first forms a group of at least r
/// devices.
std::vector<double> groupBandwidths(const Network &network);

} // namespace stagewright

#endif // STAGEWRIGHT_PLANNING_BOUNDS_GROUPBANDWIDTHS_H
