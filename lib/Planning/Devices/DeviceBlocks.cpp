//===- DeviceBlocks.cpp - blocks of equally linked devices ----------------===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Devices/DeviceBlocks.h"
#include <algorithm>

namespace stagewright {

/// Whether all links inside `host` are equally fast, faster than any link to
/// the outside, and each device outside has equal links to all devices of
/// `host`.
static bool isUniform(const Network &network, const Devices &host) {
  if (host.size() < 2)
    return true;
  double inside = network.bandwidth(host[0], host[1]);
  for (size_t device : host)
    for (size_t other = 0; other < network.size(); ++other) {
      bool isInside = network.hostOf(other) == network.hostOf(host[0]);
      double bandwidth = network.bandwidth(device, other);
      if (isInside ? other != device && bandwidth != inside
                   : bandwidth >= inside ||
                         bandwidth != network.bandwidth(host[0], other))
        return false;
    }
  return true;
}

std::vector<Block> blocksOf(const Network &network) {
  std::vector<Devices> hosts(network.numHosts());
  for (size_t device = 0; device < network.size(); ++device)
    hosts[network.hostOf(device)].push_back(device);
  std::vector<Block> blocks;
  for (Devices &host : hosts) {
    if (isUniform(network, host))
      blocks.push_back(std::move(host));
    else
      for (size_t device : host)
        blocks.push_back({device});
  }
  std::sort(blocks.begin(), blocks.end());
  return blocks;
}

bool isFlat(const Network &network, const std::vector<Block> &blocks) {
  double first = network.bandwidth(blocks[0][0], blocks[1][0]);
  for (size_t a = 0; a < blocks.size(); ++a)
    for (size_t b = a + 1; b < blocks.size(); ++b)
      if (network.bandwidth(blocks[a][0], blocks[b][0]) != first)
        return false;
  return true;
}

Devices joinEnds(const Network &network, Devices a, Devices b) {
  double best = -1;
  bool turnA = false, turnB = false;
  for (bool backA : {false, true})
    for (bool backB : {false, true}) {
      double bandwidth = network.bandwidth(backA ? a.front() : a.back(),
                                           backB ? b.back() : b.front());
      if (bandwidth > best) {
        best = bandwidth;
        turnA = backA;
        turnB = backB;
      }
    }
  if (turnA)
    std::reverse(a.begin(), a.end());
  if (turnB)
    std::reverse(b.begin(), b.end());
  a.insert(a.end(), b.begin(), b.end());
  return a;
}

} // namespace stagewright
