//===- Network.h - bandwidth between any two devices --------*- C++ -*-===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What planners ask about the links of a cluster, for every pair of devices:
// the direct link, else the fabric of their host or between hosts, else the
// widest path over other devices (a maximum spanning tree holds one for every
// pair).
//
//===----------------------------------------------------------------------===//

#ifndef STAGEWRIGHT_COST_NETWORK_H
#define STAGEWRIGHT_COST_NETWORK_H

#include "stagewright/Cost/Cluster.h"
#include <optional>

namespace stagewright {

class Network {
public:
  /// Fails where two devices are not joined by any path, and names them.
  static Result<Network> create(const Cluster &cluster);

  size_t size() const { return count; }
  /// Bytes a second from `a` to `b`, both ways, at most what a NIC between them
  /// lets through; infinite from a device to itself.
  double bandwidth(size_t a, size_t b) const {
    return bandwidths[a * count + b];
  }
  /// Seconds until the first byte arrives.
  double latency(size_t a, size_t b) const { return latencies[a * count + b]; }
  /// Host of a device, 0 to numHosts() - 1.
  size_t hostOf(size_t device) const { return hosts[device]; }
  size_t numHosts() const { return nics.size(); }
  /// Bytes a second that all channels of a host share when they leave or enter
  /// it; infinite where the cluster states none.
  double nic(size_t host) const { return nics[host]; }
  /// Whether that is less than what its devices can send to other hosts
  /// together, so that they wait for one another.
  bool sharesNic(size_t host) const { return nics[host] < wanted[host]; }
  /// By which lane of its host's NIC a device sends to, or receives from, a
  /// peer on another host. A NIC has as many lanes, each way, as it lets
  /// messages through at full speed: those of one lane wait for one another.
  /// None where it lets all through that its devices can send at once.
  std::optional<size_t> lane(size_t device, size_t peer) const;
  /// The fastest link between any two devices.
  double largestBandwidth() const { return largest; }

private:
  size_t count = 0;
  std::vector<double> bandwidths, latencies;
  std::vector<size_t> hosts;
  std::vector<size_t> places, sizes; ///< By device: within its host; by host.
  /// By host: its NIC, what its devices want of it for a message each and for
  /// one to every other at once, and the fastest of these.
  std::vector<double> nics, wanted, all, fastest;
  double largest = 0;
};

} // namespace stagewright

#endif // STAGEWRIGHT_COST_NETWORK_H
