//===- DapplePlacements.cpp - candidate devices of a stage ----------------===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "stagewright/Planning/Dapple.h"
#include <algorithm>

namespace stagewright {

namespace {
using Hosts = std::vector<std::vector<size_t>>;

/// Takes free devices of hosts until it has `count`.
class Taker {
public:
  Taker(const Hosts &hosts, const std::vector<size_t> &used, size_t count)
      : hosts(hosts), used(used), left(count) {}

  /// Takes devices host by host, of hosts in use or of unused ones only.
  /// `before`: devices in use, by host.
  void fill(bool inUse, const std::vector<size_t> &before) {
    for (size_t h = 0; h < hosts.size(); ++h)
      if ((before[h] > 0) == inUse)
        while (left > 0 && takeOne(h))
          continue;
  }

  /// Takes one device of each such host in turn.
  void scatter(bool inUse, const std::vector<size_t> &before) {
    for (bool any = true; left > 0 && any;) {
      any = false;
      for (size_t h = 0; h < hosts.size() && left > 0; ++h)
        if ((before[h] > 0) == inUse)
          any |= takeOne(h);
    }
  }

  std::vector<size_t> taken() && {
    std::sort(devices.begin(), devices.end());
    return std::move(devices);
  }

private:
  bool takeOne(size_t host) {
    if (used[host] == hosts[host].size())
      return false;
    devices.push_back(hosts[host][used[host]++]);
    --left;
    return true;
  }

  const Hosts &hosts;
  std::vector<size_t> used;
  size_t left;
  std::vector<size_t> devices;
};
} // namespace

std::vector<std::vector<size_t>>
dapplePlacements(const Hosts &hosts, const std::vector<size_t> &used,
                 size_t count) {
  Hosts sets;
  auto add = [&](auto &&take) {
    Taker taker(hosts, used, count);
    take(taker);
    std::vector<size_t> set = std::move(taker).taken();
    if (set.size() == count &&
        std::find(sets.begin(), sets.end(), set) == sets.end())
      sets.push_back(std::move(set));
  };
  add([&](Taker &t) { t.fill(false, used), t.fill(true, used); });
  add([&](Taker &t) { t.fill(true, used), t.fill(false, used); });
  add([&](Taker &t) { t.scatter(true, used), t.scatter(false, used); });
  return sets;
}

} // namespace stagewright
