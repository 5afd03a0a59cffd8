//===- GangCluster.h - gangs of devices as devices --------------*- C++ -*-===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Private to this folder: a cluster with one device for each gang, and the time
// that devices of a gang wait for each other's messages.
//
//===----------------------------------------------------------------------===//

#ifndef STAGEWRIGHT_LIB_PLANNING_GANGS_GANGCLUSTER_H
#define STAGEWRIGHT_LIB_PLANNING_GANGS_GANGCLUSTER_H

#include "stagewright/Cost/Network.h"

namespace stagewright {

/// Gang g has devices g * ways to (g + 1) * ways - 1.
struct GangCluster {
  Cluster cluster; ///< One device per gang.
  /// By class of `cluster`, and by shard: the class of the device.
  std::vector<std::vector<size_t>> classes;
  /// Gangs whose links differ; the links of every other gang equal those of one
  /// of these.
  std::vector<size_t> distinct;
};

/// The cluster of the gangs of `ways` devices. For plans it has the slowest of
/// corresponding links, the part of a NIC that one shard gets, and the smallest
/// memory; with `isBest`, for bounds, the fastest link, a whole NIC for each
/// shard, and the largest memory.
GangCluster gangCluster(const Cluster &cluster, const Network &network,
                        size_t ways, bool isBest);

/// How the messages of a device wait for each other.
struct GangWaits {
  bool isLeast = false;  ///< Count only waits that are sure; for lower bounds.
  bool areShared = true; ///< CostModel::sharedNics.
};

/// Seconds that device `shard` of gang `gang` waits for messages: `bytes[s]`
/// from shard s. Messages through the same lane of its port or of its host's
/// NIC arrive one after the other.
double waitInGang(const Network &network, size_t gang, size_t shard,
                  const std::vector<int64_t> &bytes, GangWaits how);

} // namespace stagewright

#endif // STAGEWRIGHT_LIB_PLANNING_GANGS_GANGCLUSTER_H
