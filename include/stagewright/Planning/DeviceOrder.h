//===- DeviceOrder.h - in which order stages take devices -------*- C++ -*-===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A planner of chains gives each stage the next devices of a list. Recursive
// device ordering (RDO) splits the devices by a global minimum cut (Stoer and
// Wagner 1997) of the bandwidths, orders both sides alike and turns them so
// that the touching ends are joined best: a slow link then carries at most one
// stage boundary. Source: SPP (planners.md 1.4).
//
//===----------------------------------------------------------------------===//

#ifndef STAGEWRIGHT_PLANNING_DEVICEORDER_H
#define STAGEWRIGHT_PLANNING_DEVICEORDER_H

#include "stagewright/Cost/Network.h"

namespace stagewright {

/// The devices in RDO's order; ties keep the smallest first. Hosts whose
/// devices are joined alike, and better than to the outside, are one vertex.
/// O(V^4) up to 128 vertices; more are cut where a maximum spanning tree is
/// weakest, O(V^3), so that 1,024 devices take under a second.
std::vector<size_t> recursiveOrder(const Network &network);

/// At most `most` different orders worth trying, RDO's first and its reverse
/// second, then what local rules find on unequal links and devices. On a flat
/// network of equal devices that is one order.
std::vector<std::vector<size_t>>
candidateOrders(const Cluster &cluster, const Network &network, size_t most);

} // namespace stagewright

#endif // STAGEWRIGHT_PLANNING_DEVICEORDER_H
