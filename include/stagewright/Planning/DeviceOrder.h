//===- DeviceOrder.h - order in which stages take devices -------*- C++ -*-===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A planner of chains gives each stage the next devices of a list. Recursive
// device ordering (RDO) splits the devices by a global minimum cut (Stoer and
// Wagner 1997) of the bandwidths, orders both sides recursively, and reverses
// them so that the adjacent ends have the fastest link: a slow link then
// carries at most one stage boundary. Source: SPP
// (docs/planner.md, section 2).
//
//===----------------------------------------------------------------------===//

#ifndef STAGEWRIGHT_PLANNING_DEVICEORDER_H
#define STAGEWRIGHT_PLANNING_DEVICEORDER_H

#include "stagewright/Cost/Network.h"

namespace stagewright {

/// The devices in RDO's order; of equal ones the smallest number comes first. A
/// host whose devices are connected equally fast, and faster than to other
/// hosts, is one vertex. O(V^4) up to 128 vertices; above, cuts are at the
/// weakest edge of a maximum spanning tree, O(V^3), and 1,024 devices take
/// under a second.
std::vector<size_t> recursiveOrder(const Network &network);

/// At most `most` different orders to try: RDO's first, its reverse second,
/// then, on unequal devices, all orders that differ by more than an exchange of
/// equal devices, if they are at most `most`; else orders that heuristics find
/// for unequal links and devices. On a flat network of equal devices there is
/// one order.
std::vector<std::vector<size_t>>
candidateOrders(const Cluster &cluster, const Network &network, size_t most);

} // namespace stagewright

#endif // STAGEWRIGHT_PLANNING_DEVICEORDER_H
