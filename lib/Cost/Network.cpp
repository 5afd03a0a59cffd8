//===- Network.cpp - bandwidth between any two devices --------------------===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "stagewright/Cost/Network.h"
#include "Reach.h"
#include <algorithm>
#include <limits>

namespace stagewright {

static constexpr double kInfinite = std::numeric_limits<double>::infinity();

namespace {
/// A connection of two devices; bandwidth 0: there is none.
struct Way {
  double bandwidth = 0, latency = 0;

  bool isBetterThan(const Way &other) const {
    return bandwidth != other.bandwidth ? bandwidth > other.bandwidth
                                        : latency < other.latency;
  }
};

/// The connections of all pairs of devices, the same in both directions.
class Ways {
public:
  explicit Ways(size_t count) : count(count), ways(count * count) {}

  const Way &of(size_t a, size_t b) const { return ways[a * count + b]; }
  void set(size_t a, size_t b, Way way) {
    ways[a * count + b] = ways[b * count + a] = way;
  }
  size_t size() const { return count; }
  /// Whether all pairs are connected.
  bool areComplete() const {
    for (size_t a = 0; a < count; ++a)
      for (size_t b = a + 1; b < count; ++b)
        if (of(a, b).bandwidth == 0)
          return false;
    return true;
  }

private:
  size_t count;
  std::vector<Way> ways;
};

/// A maximum spanning tree: the devices in the order in which they were added,
/// and the parent of each.
struct Tree {
  std::vector<size_t> order, parent;
};
} // namespace

/// The links of pairs of devices; for other pairs what the fabric gives.
static Ways directWays(const Cluster &cluster) {
  Ways ways(cluster.devices.size());
  for (const Link &link : cluster.links)
    if (ways.of(link.from, link.to).bandwidth == 0)
      ways.set(link.from, link.to, {link.bandwidth.value, link.latency.value});
  const Fabric &fabric = cluster.fabric;
  if (!fabric.inside && !fabric.between)
    return ways;
  for (size_t a = 0; a < ways.size(); ++a)
    for (size_t b = a + 1; b < ways.size(); ++b) {
      bool sameHost = cluster.devices[a].node == cluster.devices[b].node;
      const std::optional<Joint> &joint =
          sameHost ? fabric.inside : fabric.between;
      if (joint && ways.of(a, b).bandwidth == 0)
        ways.set(a, b, {joint->bandwidth.value, joint->latency.value});
    }
  return ways;
}

/// Prim's algorithm from device 0; every device must be reachable.
static Tree widestTree(const Ways &ways) {
  Tree tree{{}, std::vector<size_t>(ways.size(), 0)};
  std::vector<Way> best(ways.size());
  std::vector<bool> joined(ways.size(), false);
  for (size_t last = 0; last < ways.size();) {
    joined[last] = true;
    tree.order.push_back(last);
    size_t next = ways.size();
    for (size_t v = 0; v < ways.size(); ++v) {
      if (joined[v])
        continue;
      if (ways.of(last, v).isBetterThan(best[v])) {
        best[v] = ways.of(last, v);
        tree.parent[v] = last;
      }
      if (next == ways.size() || best[v].isBetterThan(best[next]))
        next = v;
    }
    last = next;
  }
  return tree;
}

/// Connects the other pairs by paths along `tree`. The path from a device to
/// one that was added earlier goes through its parent.
static Ways withPaths(const Ways &ways, const Tree &tree) {
  Ways paths(ways.size()), result = ways;
  for (size_t i = 1; i < tree.order.size(); ++i) {
    size_t device = tree.order[i], parent = tree.parent[device];
    const Way step = ways.of(device, parent);
    for (size_t j = 0; j < i; ++j) {
      size_t other = tree.order[j];
      Way path = step;
      if (other != parent) {
        const Way &rest = paths.of(parent, other);
        path = {std::min(step.bandwidth, rest.bandwidth),
                step.latency + rest.latency};
      }
      paths.set(device, other, path);
      if (ways.of(device, other).bandwidth == 0)
        result.set(device, other, path);
    }
  }
  return result;
}

/// How many messages at full speed `shared` carries at a time, at least one.
static size_t lanesOf(double shared, double ofMessage) {
  constexpr double kRounding = 1 + 1e-9; // Of decimals in files.
  return std::max<size_t>(1, size_t(shared / ofMessage * kRounding));
}

Result<Network> Network::create(const Cluster &cluster) {
  if (Status status = checkReach(cluster); !status)
    return status.error();
  Ways ways = directWays(cluster);
  size_t count = ways.size();
  if (!ways.areComplete())
    ways = withPaths(ways, widestTree(ways));

  Network network;
  network.count = count;
  network.bandwidths.resize(count * count);
  network.latencies.resize(count * count);
  std::vector<int64_t> nodes; // Hosts in the order of their first devices.
  for (const Device &device : cluster.devices) {
    auto host = std::find(nodes.begin(), nodes.end(), device.node);
    network.hosts.push_back(host - nodes.begin());
    if (host == nodes.end())
      nodes.push_back(device.node);
  }
  double nic = cluster.fabric.nic ? cluster.fabric.nic->value : kInfinite;
  network.nics.assign(nodes.size(), nic);
  network.wanted.assign(nodes.size(), 0);
  network.all.assign(nodes.size(), 0);
  network.fastest.assign(nodes.size(), 0);
  network.sizes.assign(nodes.size(), 0);
  for (size_t host : network.hosts)
    network.places.push_back(network.sizes[host]++);
  double port = cluster.fabric.port ? cluster.fabric.port->value : kInfinite;
  for (size_t a = 0; a < count; ++a) {
    size_t host = network.hosts[a];
    double most = 0;                      // To devices of other hosts.
    double allInside = 0, mostInside = 0; // To devices of its host.
    for (size_t b = 0; b < count; ++b) {
      // The NIC limits every connection between hosts.
      double limit = host == network.hosts[b] ? port : nic;
      network.bandwidths[a * count + b] =
          a == b ? kInfinite : std::min(ways.of(a, b).bandwidth, limit);
      network.latencies[a * count + b] = ways.of(a, b).latency;
      if (a != b)
        network.largest =
            std::max(network.largest, network.bandwidths[a * count + b]);
      if (host == network.hosts[b]) {
        if (a != b) {
          allInside += network.bandwidths[a * count + b];
          mostInside = std::max(mostInside, network.bandwidths[a * count + b]);
        }
        continue;
      }
      most = std::max(most, network.bandwidths[a * count + b]);
      network.all[host] += network.bandwidths[a * count + b];
    }
    network.wanted[host] += most;
    network.fastest[host] = std::max(network.fastest[host], most);
    network.portLanes.push_back(port < allInside ? lanesOf(port, mostInside)
                                                 : 0);
  }
  return network;
}

std::optional<size_t> Network::lane(size_t device, size_t peer) const {
  size_t host = hosts[device];
  if (host == hosts[peer])
    return portLanes[device] == 0 ? std::nullopt
                                  : std::optional(peer % portLanes[device]);
  if (!(nics[host] < all[host]))
    return std::nullopt;
  size_t lanes = lanesOf(nics[host], fastest[host]);
  size_t each = lanes / sizes[host]; // Lanes per device.
  return each < 2 ? places[device] % lanes
                  : places[device] * each + peer % each;
}

} // namespace stagewright
