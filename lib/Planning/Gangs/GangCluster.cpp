//===- GangCluster.cpp - gangs of devices as devices ----------------------===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Gangs/GangCluster.h"
#include <algorithm>
#include <limits>
#include <map>
#include <set>

namespace stagewright {

/// The number of hosts that the devices of a gang are on.
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
      auto lane = network.lane(a, b);
      links.insert(links.end(), {network.bandwidth(a, b), network.latency(a, b),
                                 double(isInside), lane ? double(*lane) : -1});
    }
  return links;
}

/// The slowest link between corresponding devices of two gangs, or the fastest.
static Link linkBetween(const Network &network, size_t a, size_t b, size_t ways,
                        bool isBest) {
  Link link{a, b, Bandwidth(network.bandwidth(a * ways, b * ways)), Seconds()};
  for (size_t i = 0; i < ways; ++i) {
    size_t from = a * ways + i, to = b * ways + i;
    Bandwidth bandwidth(network.bandwidth(from, to));
    Seconds latency(network.latency(from, to));
    link.bandwidth = isBest ? std::max(link.bandwidth, bandwidth)
                            : std::min(link.bandwidth, bandwidth);
    link.latency = i == 0   ? latency
                   : isBest ? std::min(link.latency, latency)
                            : std::max(link.latency, latency);
  }
  return link;
}

GangCluster gangCluster(const Cluster &cluster, const Network &network,
                        size_t ways, bool isBest) {
  GangCluster result;
  result.cluster.name = cluster.name;
  std::vector<size_t> classOf = cluster.classOfDevices();
  std::map<std::vector<size_t>, size_t> classes;
  std::set<std::vector<double>> links;
  size_t count = cluster.devices.size() / ways, mostHosts = 1,
         leastHosts = ways;
  for (size_t gang = 0; gang < count; ++gang) {
    Device device = cluster.devices[gang * ways];
    std::vector<size_t> own;
    for (size_t i = gang * ways; i < (gang + 1) * ways; ++i) {
      const Device &member = cluster.devices[i];
      own.push_back(classOf[i]);
      device.memory = isBest ? std::max(device.memory, member.memory)
                             : std::min(device.memory, member.memory);
      if (!member.hostBandwidth || !device.hostBandwidth)
        device.hostBandwidth.reset();
      else
        device.hostBandwidth =
            std::min(*device.hostBandwidth, *member.hostBandwidth);
    }
    size_t hosts = hostsOf(network, gang, ways);
    mostHosts = std::max(mostHosts, hosts);
    leastHosts = std::min(leastHosts, hosts);
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
  // All shards of a gang send at the same time and share the NIC of their host;
  // the gang with the fewest hosts decides.
  result.cluster.fabric = cluster.fabric;
  if (std::optional<Bandwidth> &nic = result.cluster.fabric.nic; nic && !isBest)
    *nic = Bandwidth(nic->value * double(leastHosts) / double(ways));
  bool isFabric = cluster.links.empty() && cluster.fabric.between &&
                  (mostHosts > 1 || cluster.fabric.inside);
  for (size_t a = 0; a < count && !isFabric; ++a)
    for (size_t b = a + 1; b < count; ++b)
      result.cluster.links.push_back(linkBetween(network, a, b, ways, isBest));
  return result;
}

double waitInGang(const Network &network, size_t gang, size_t shard,
                  const std::vector<int64_t> &bytes, GangWaits how) {
  size_t ways = bytes.size(), to = gang * ways + shard;
  // In a simulated plan, messages of a stage with at most two channels do not
  // wait for each other (PlanChannels.cpp); a lower bound must not count such
  // waits.
  auto count =
      size_t(ways) - 1 -
      size_t(std::count(bytes.begin(), bytes.end(), 0) - (bytes[shard] == 0));
  bool haveLanes = how.areShared && (count > 2 || !how.isLeast);
  struct Lane {
    double seconds = 0, least = std::numeric_limits<double>::infinity();
  };
  // By lane, inside the host and between hosts; without a lane, by sender.
  std::map<std::pair<int, size_t>, Lane> lanes;
  double latest = 0;
  for (size_t i = 0; i < ways; ++i) {
    if (i == shard || bytes[i] == 0)
      continue;
    size_t from = gang * ways + i;
    bool isInside = network.hostOf(from) == network.hostOf(to);
    auto number = network.lane(to, from);
    int kind = !number || !haveLanes ? 2 : isInside ? 0 : 1;
    Lane &lane = lanes[{kind, kind == 2 ? i : *number}];
    double latency = network.latency(from, to);
    lane.seconds += double(bytes[i]) / network.bandwidth(from, to);
    lane.least = std::min(lane.least, latency);
    latest = std::max(latest, latency);
  }
  double slowest = 0;
  for (const auto &[number, lane] : lanes)
    slowest =
        std::max(slowest, lane.seconds + (how.isLeast ? lane.least : latest));
  return slowest;
}

} // namespace stagewright
