//===- DappleArrangements.cpp - devices used and devices left -------------===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Dapple/DappleArrangements.h"
#include <algorithm>

namespace stagewright {

DappleArrangements::DappleArrangements(const DappleInput &input)
    : input(input) {
  for (size_t device = 0; device < input.hostOf.size(); ++device) {
    hosts.resize(std::max(hosts.size(), input.hostOf[device] + 1));
    hosts[input.hostOf[device]].push_back(device);
  }
}

const DappleGroup &
DappleArrangements::groupOf(const std::vector<size_t> &devices) {
  auto [entry, isNew] = groups.try_emplace(devices);
  if (isNew)
    entry->second = {groups.size() - 1, devices};
  return entry->second;
}

Arrangement &DappleArrangements::of(const std::vector<size_t> &used) {
  auto [entry, isNew] = arrangements.try_emplace(used);
  if (isNew) {
    entry->second.used = used;
    for (size_t h = 0; h < hosts.size(); ++h)
      entry->second.free += hosts[h].size() - used[h];
  }
  return entry->second;
}

const std::vector<Choice> &
DappleArrangements::choicesOf(Arrangement &arrangement) {
  if (arrangement.isFilled)
    return arrangement.choices;
  arrangement.isFilled = true;
  const std::vector<size_t> &used = arrangement.used;
  for (size_t replicas = 1; replicas < arrangement.free && allows(replicas);
       ++replicas)
    for (const auto &devices : dapplePlacements(hosts, used, replicas)) {
      std::vector<size_t> after = used, rest;
      for (size_t device : devices)
        ++after[input.hostOf[device]];
      for (size_t h = 0; h < hosts.size(); ++h)
        rest.insert(rest.end(), hosts[h].begin() + after[h], hosts[h].end());
      std::sort(rest.begin(), rest.end());
      Choice choice{&groupOf(devices), &groupOf(rest), nullptr, &of(after)};
      if (!allows(rest.size()))
        choice.few = &groupOf(
            dapplePlacements(hosts, after, size_t(input.maxReplicas)).front());
      arrangement.choices.push_back(choice);
    }
  return arrangement.choices;
}

Occupancy DappleArrangements::occupancyOf(const std::vector<size_t> &used,
                                          size_t stages) const {
  Occupancy key;
  key.stages = input.stages ? stages : 0;
  for (size_t h = 0; h < hosts.size(); ++h) {
    key.devices += used[h];
    key.hosts.emplace_back(input.kindOf[h], used[h]);
  }
  std::sort(key.hosts.begin(), key.hosts.end());
  return key;
}

const DappleGroup &DappleArrangements::whole() {
  size_t count = input.hostOf.size();
  if (!allows(count))
    count = size_t(input.maxReplicas);
  return groupOf(dapplePlacements(hosts, empty().used, count).front());
}

} // namespace stagewright
