//===- GangCluster.cpp - gangs of devices as devices ----------------------===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Gangs/GangCluster.h"
#include <algorithm>
#include <map>
#include <set>

namespace stagewright {

/// The hosts that the devices of a gang are on.
static size_t hostsOf(const Network &network, size_t gang, size_t ways) {
  std::set<size_t> hosts;
  for (size_t i = gang * ways; i < (gang + 1) * ways; ++i)
    hosts.insert(network.hostOf(i));
  return hosts.size();
}

/// Everything by which the links inside two gangs may differ.
static std::vector<double> linksIn(const Network &network, size_t gang,
                                   size_t ways) {
  std::vector<double> links;
  size_t first = gang * ways;
  for (size_t a = first; a < first + ways; ++a)
    for (size_t b = first; b < first + ways; ++b) {
      if (a == b)
        continue;
      bool isInside = network.hostOf(a) == network.hostOf(b);
      auto lane = isInside ? network.portLane(a, b) : network.lane(a, b);
      links.insert(links.end(), {network.bandwidth(a, b), network.latency(a, b),
                                 double(isInside), lane ? double(*lane) : -1});
    }
  return links;
}

/// The slowest link between corresponding devices of two gangs.
static Link linkBetween(const Network &network, size_t a, size_t b,
                        size_t ways) {
  Link link{a, b, Bandwidth(network.bandwidth(a * ways, b * ways)), Seconds()};
  for (size_t i = 0; i < ways; ++i) {
    size_t from = a * ways + i, to = b * ways + i;
    link.bandwidth =
        std::min(link.bandwidth, Bandwidth(network.bandwidth(from, to)));
    link.latency = std::max(link.latency, Seconds(network.latency(from, to)));
  }
  return link;
}

GangCluster gangCluster(const Cluster &cluster, const Network &network,
                        size_t ways) {
  GangCluster result;
  result.cluster.name = cluster.name;
  std::vector<size_t> classOf = cluster.classOfDevices();
  std::map<std::vector<size_t>, size_t> classes;
  std::set<std::vector<double>> links;
  size_t count = cluster.devices.size() / ways, mostHosts = 1;
  for (size_t gang = 0; gang < count; ++gang) {
    Device device = cluster.devices[gang * ways];
    std::vector<size_t> own;
    for (size_t i = gang * ways; i < (gang + 1) * ways; ++i) {
      const Device &member = cluster.devices[i];
      own.push_back(classOf[i]);
      device.memory = std::min(device.memory, member.memory);
      if (!member.hostBandwidth || !device.hostBandwidth)
        device.hostBandwidth.reset();
      else
        device.hostBandwidth =
            std::min(*device.hostBandwidth, *member.hostBandwidth);
    }
    size_t hosts = hostsOf(network, gang, ways);
    mostHosts = std::max(mostHosts, hosts);
    if (hosts > 1) // A host of its own.
      device.node = -int64_t(gang) - 1;
    device.name += "-" + cluster.devices[(gang + 1) * ways - 1].name;
    size_t number = classes.try_emplace(own, classes.size()).first->second;
    if (number == result.classes.size())
      result.classes.push_back(own);
    device.deviceClass = "gang-class" + std::to_string(number);
    result.cluster.devices.push_back(std::move(device));
    if (links.insert(linksIn(network, gang, ways)).second)
      result.distinct.push_back(gang);
  }
  // All shards of a gang send at a time and share the NIC of their host.
  result.cluster.fabric = cluster.fabric;
  if (std::optional<Bandwidth> &nic = result.cluster.fabric.nic)
    *nic = Bandwidth(nic->value * double(mostHosts) / double(ways));
  bool isFabric = cluster.links.empty() && cluster.fabric.between &&
                  (mostHosts > 1 || cluster.fabric.inside);
  for (size_t a = 0; a < count && !isFabric; ++a)
    for (size_t b = a + 1; b < count; ++b)
      result.cluster.links.push_back(linkBetween(network, a, b, ways));
  return result;
}

double waitInGang(const Network &network, size_t gang, size_t shard,
                  const std::vector<int64_t> &bytes) {
  size_t ways = bytes.size(), to = gang * ways + shard;
  // By lane, inside the host and between hosts; without a lane, by sender.
  std::map<std::pair<int, size_t>, double> lanes;
  double latency = 0;
  for (size_t i = 0; i < ways; ++i) {
    if (i == shard || bytes[i] == 0)
      continue;
    size_t from = gang * ways + i;
    bool isInside = network.hostOf(from) == network.hostOf(to);
    auto lane = isInside ? network.portLane(to, from) : network.lane(to, from);
    int kind = !lane ? 2 : isInside ? 0 : 1;
    lanes[{kind, lane.value_or(i)}] +=
        double(bytes[i]) / network.bandwidth(from, to);
    latency = std::max(latency, network.latency(from, to));
  }
  double slowest = 0;
  for (const auto &[lane, seconds] : lanes)
    slowest = std::max(slowest, seconds);
  return slowest + latency;
}

} // namespace stagewright
