//===- SppLists.cpp - lists of devices to search --------------------------===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// In addition to the lists of DeviceOrder.h, which keep the devices of a host
// together, three kinds of lists split hosts: one has devices of the first host
// at both ends, for a narrow first and last stage; in the others the devices of
// two hosts, or of all hosts, alternate. If the stages then have replicas on
// each of these hosts, part of a channel's traffic stays inside hosts.
//
//===----------------------------------------------------------------------===//

#include "Spp/Spp.h"
#include "Spp/SppCandidates.h"
#include "stagewright/Planning/DeviceOrder.h"
#include "stagewright/Support/Parallel.h"
#include <algorithm>

namespace stagewright {

using List = std::vector<size_t>;

/// Estimated inner iterations of one run of the planner on one list.
static double stepsOf(const Problem &problem) {
  double devices = double(problem.cluster.devices.size());
  return double(problem.layers.size()) * devices * devices * devices *
         (devices / 24 + 2);
}

/// Max stepsOf() of a problem for which lists that split hosts are tried.
static constexpr double kStepsOfSplitHosts = 2e8;

/// The devices of each host, in the order of the list.
static std::vector<List> hostsOf(const Network &network, const List &list) {
  std::vector<List> hosts;
  std::vector<size_t> numberOf(network.numHosts(), list.size());
  for (size_t device : list) {
    size_t &number = numberOf[network.hostOf(device)];
    if (number == list.size()) {
      number = hosts.size();
      hosts.emplace_back();
    }
    hosts[number].push_back(device);
  }
  return hosts;
}

/// A list of groups of `together` hosts; inside a group the hosts alternate.
static List inTurn(const std::vector<List> &hosts, size_t together) {
  List list;
  for (size_t first = 0; first < hosts.size(); first += together) {
    size_t end = std::min(first + together, hosts.size()), most = 0;
    for (size_t h = first; h < end; ++h)
      most = std::max(most, hosts[h].size());
    for (size_t place = 0; place < most; ++place)
      for (size_t h = first; h < end; ++h)
        if (place < hosts[h].size())
          list.push_back(hosts[h][place]);
  }
  return list;
}

/// The lists that split hosts.
static std::vector<List> splitHosts(const Network &network, const List &list) {
  std::vector<List> hosts = hostsOf(network, list), found;
  if (hosts.size() < 2 || hosts.size() == list.size())
    return found;
  for (size_t moved = 1; moved < std::min<size_t>(hosts.front().size(), 5);
       ++moved) {
    List turned = list;
    std::rotate(turned.begin(), turned.begin() + moved, turned.end());
    found.push_back(turned);
  }
  found.push_back(inTurn(hosts, 2));
  if (hosts.size() > 2)
    found.push_back(inTurn(hosts, hosts.size()));
  return found;
}

std::vector<List> chooseLists(const Problem &problem, const Network &network) {
  size_t looked = size_t(std::clamp(1e8 / stepsOf(problem), 2.0, 64.0));
  size_t kept = size_t(std::clamp(4e6 / stepsOf(problem), 2.0, 64.0));
  std::vector<List> lists = candidateOrders(problem.cluster, network, looked);
  if (stepsOf(problem) <= kStepsOfSplitHosts)
    for (List &list : splitHosts(network, lists.front()))
      if (lists.size() < std::max<size_t>(looked, 8))
        lists.push_back(std::move(list));
  if (lists.size() <= kept)
    return lists;
  SppCandidates candidates(problem, network);
  std::vector<std::pair<Seconds, size_t>> promises(lists.size() - 1);
  forEachInParallel(promises.size(), [&](size_t i) {
    promises[i] = {candidates.promiseOf(lists[i + 1]), i + 1};
  });
  std::sort(promises.begin(), promises.end());
  std::vector<List> chosen = {lists.front()};
  for (size_t i = 0; chosen.size() < kept; ++i)
    chosen.push_back(lists[promises[i].second]);
  return chosen;
}

} // namespace stagewright
