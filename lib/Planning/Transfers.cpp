//===- Transfers.cpp - times of transfers and all-reduces -----------------===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "stagewright/Planning/Evaluate.h"
#include <algorithm>

namespace stagewright {

Seconds transferTime(const Network &network, const std::vector<size_t> &from,
                     const std::vector<double> &fromShares,
                     const std::vector<size_t> &to,
                     const std::vector<double> &toShares, Bytes bytes,
                     Seconds given) {
  if (bytes.value <= 0 && given.value <= 0)
    return Seconds();
  std::vector<double> received(to.size(), 0);
  std::vector<double> leaving(network.numHosts(), 0),
      entering(network.numHosts(), 0);
  double slowest = 0, latency = 0;
  for (size_t u = 0; u < from.size(); ++u) {
    double sent = 0;
    for (size_t v = 0; v < to.size(); ++v) {
      if (from[u] == to[v])
        continue;
      double part = fromShares[u] * toShares[v];
      double pair = part * double(bytes.value);
      double time =
          pair / network.bandwidth(from[u], to[v]) + part * given.value;
      sent += time;
      received[v] += time;
      latency = std::max(latency, network.latency(from[u], to[v]));
      size_t a = network.hostOf(from[u]), b = network.hostOf(to[v]);
      if (a != b) {
        leaving[a] += pair;
        entering[b] += pair;
      }
    }
    slowest = std::max(slowest, sent);
  }
  for (double time : received)
    slowest = std::max(slowest, time);
  for (size_t host = 0; host < network.numHosts(); ++host)
    slowest = std::max(slowest, std::max(leaving[host], entering[host]) /
                                    network.nic(host));
  return Seconds(slowest + latency);
}

Seconds transferTime(const Network &network, size_t from, size_t to,
                     Bytes bytes, Seconds given) {
  if (from == to || (bytes.value <= 0 && given.value <= 0))
    return Seconds();
  auto count = double(bytes.value);
  double slowest = count / network.bandwidth(from, to) + given.value;
  size_t a = network.hostOf(from), b = network.hostOf(to);
  if (a != b)
    slowest =
        std::max({slowest, count / network.nic(a), count / network.nic(b)});
  return Seconds(slowest + network.latency(from, to));
}

void SlowestPair::add(const Network &network, size_t a, size_t b) {
  bandwidth = std::min(bandwidth, network.bandwidth(a, b));
  latency = std::max(latency, network.latency(a, b));
}

Seconds allReduceTime(const SlowestPair &slowest, size_t replicas,
                      Bytes bytes) {
  if (replicas < 2 || bytes.value <= 0)
    return Seconds();
  double steps = 2 * double(replicas - 1);
  return Seconds(steps / double(replicas) * double(bytes.value) /
                     slowest.bandwidth +
                 steps * slowest.latency);
}

Seconds allReduceTime(const Network &network,
                      const std::vector<size_t> &devices, Bytes bytes) {
  SlowestPair slowest;
  if (bytes.value > 0)
    for (size_t a = 0; a < devices.size(); ++a)
      for (size_t b = a + 1; b < devices.size(); ++b)
        slowest.add(network, devices[a], devices[b]);
  return allReduceTime(slowest, devices.size(), bytes);
}

} // namespace stagewright
