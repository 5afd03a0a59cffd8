//===- Network.h - bandwidth between any two devices ------------*- C++ -*-===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Bandwidth and latency between every pair of devices of a cluster: those of
// the direct link, else of the fabric inside their host or between hosts, else
// of the widest path over other devices (a maximum spanning tree contains one
// for every pair).
//
//===----------------------------------------------------------------------===//

#ifndef STAGEWRIGHT_COST_NETWORK_H
#define STAGEWRIGHT_COST_NETWORK_H

#include "stagewright/Cost/Cluster.h"
#include <optional>

namespace stagewright {

class Network {
public:
  /// Fails if no path connects two devices, and names them.
  static Result<Network> create(const Cluster &cluster);

  size_t size() const { return count; }
  /// Bytes a second from `a` to `b`, in each direction, limited by a NIC or a
  /// port between them; infinite from a device to itself.
  double bandwidth(size_t a, size_t b) const {
    return bandwidths[a * count + b];
  }
  /// Seconds until the first byte arrives.
  double latency(size_t a, size_t b) const { return latencies[a * count + b]; }
  /// Host of a device, 0 to numHosts() - 1.
  size_t hostOf(size_t device) const { return hosts[device]; }
  size_t numHosts() const { return nics.size(); }
  /// Bytes a second, each way, that all channels between a host and other hosts
  /// share; infinite if the cluster gives no value.
  double nic(size_t host) const { return nics[host]; }
  /// Whether that is less than the total that the host's devices can send to
  /// other hosts, so that their messages delay each other.
  bool sharesNic(size_t host) const { return nics[host] < wanted[host]; }
  /// The lane by which a device exchanges messages with a peer: of the port of
  /// the device if the peer is on its host, else of the NIC of its host. Both
  /// have as many lanes, each way, as messages that they can carry at full
  /// speed; the messages of one lane wait for each other. None if they can
  /// carry all messages of the device, or of the host's devices, at once.
  std::optional<size_t> lane(size_t device, size_t peer) const;
  /// The max bandwidth between any two devices, in bytes a second.
  double largestBandwidth() const { return largest; }

private:
  size_t count = 0;
  std::vector<double> bandwidths, latencies;
  std::vector<size_t> hosts;
  std::vector<size_t> places, sizes; ///< Index in its host; count by host.
  /// By host, in bytes a second: its NIC; the total of its devices' messages to
  /// other hosts, with one message per device (`wanted`) or one per pair of
  /// devices (`all`); and the fastest of these messages.
  std::vector<double> nics, wanted, all, fastest;
  std::vector<size_t> portLanes; ///< By device; 0: its port is no limit.
  double largest = 0;
};

} // namespace stagewright

#endif // STAGEWRIGHT_COST_NETWORK_H
