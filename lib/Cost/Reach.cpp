//===- Reach.cpp - whether links connect all devices ----------------------===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Reach.h"
#include <map>
#include <nlohmann/json.hpp>
#include <numeric>

namespace stagewright {

namespace {
/// Sets of connected devices (union-find), each identified by one member.
class Sets {
public:
  explicit Sets(size_t count) : parents(count) {
    std::iota(parents.begin(), parents.end(), 0);
  }

  size_t of(size_t device) {
    while (parents[device] != device)
      device = parents[device] = parents[parents[device]];
    return device;
  }
  void join(size_t a, size_t b) { parents[of(b)] = of(a); }

private:
  std::vector<size_t> parents;
};
} // namespace

Status checkReach(const Cluster &cluster) {
  Sets sets(cluster.devices.size());
  for (const Link &link : cluster.links)
    sets.join(link.from, link.to);
  std::map<int64_t, size_t> firstOfHost;
  for (size_t device = 0; device < cluster.devices.size(); ++device)
    firstOfHost.try_emplace(cluster.devices[device].node, device);
  // With several hosts `between` also connects the devices of one host, through
  // another host.
  bool allJoined = cluster.fabric.between && firstOfHost.size() > 1;
  if (cluster.fabric.inside)
    for (size_t device = 0; device < cluster.devices.size(); ++device)
      sets.join(firstOfHost[cluster.devices[device].node], device);
  for (size_t device = 1; device < cluster.devices.size() && !allJoined;
       ++device)
    if (sets.of(device) != sets.of(0))
      return Error{"no path of links joins devices '" +
                   cluster.devices[0].name + "' and '" +
                   cluster.devices[device].name +
                   "'; give a link to one of them, or a fabric"};
  return {};
}

std::string toText(double number) { return nlohmann::json(number).dump(); }

} // namespace stagewright
