//===- GangCluster.h - gangs of devices as devices --------------*- C++ -*-===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
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
  /// Gangs of which every other one has the links of one.
  std::vector<size_t> distinct;
};

/// With `isBest`, for bounds: the fastest of corresponding links, a NIC for
/// each shard, and the largest memory, instead of the slowest, a part, the
/// smallest.
GangCluster gangCluster(const Cluster &cluster, const Network &network,
                        size_t ways, bool isBest);

/// How the messages of a device wait for each other.
struct GangWaits {
  bool isLeast = false;  ///< For bounds.
  bool areShared = true; ///< CostModel::sharedNics.
};

/// Seconds that device `shard` of gang `gang` waits for `bytes`, by shard that
/// sends them. Those that come through one lane of its port or its host's NIC
/// come one after the other.
double waitInGang(const Network &network, size_t gang, size_t shard,
                  const std::vector<int64_t> &bytes, GangWaits how);

} // namespace stagewright

#endif // STAGEWRIGHT_LIB_PLANNING_GANGS_GANGCLUSTER_H
