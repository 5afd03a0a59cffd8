//===- Placement.cpp - assignment of ranks to processes -------------------===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Processes/Placement.h"

#include "stagewright/Runtime/Error.h"

#include <algorithm>
#include <map>
#include <numeric>

namespace stagewright::runtime {

namespace {

using Group = std::vector<int64_t>; ///< ranks or processes of one host

/// The ranks of each host of the plan, ordered by the host's number.
std::vector<Group> planned(const Manifest &manifest) {
  std::map<int64_t, Group> groups;
  for (size_t r = 0; r < manifest.ranks.size(); ++r)
    groups[manifest.ranks[r].host].push_back(int64_t(r));
  std::vector<Group> list;
  for (auto &[host, group] : groups)
    list.push_back(group);
  return list;
}

/// The processes of each host of the launch, ordered by their first process.
std::vector<Group> launched(const std::vector<std::string> &hosts) {
  std::map<std::string, size_t> numbers;
  std::vector<Group> list;
  for (size_t p = 0; p < hosts.size(); ++p) {
    auto [it, added] = numbers.insert({hosts[p], list.size()});
    if (added)
      list.emplace_back();
    list[it->second].push_back(int64_t(p));
  }
  return list;
}

/// "2 hosts (3 + 1)".
std::string print(const std::vector<Group> &groups) {
  std::string text = std::to_string(groups.size()) +
                     (groups.size() == 1 ? " host (" : " hosts (");
  for (size_t i = 0; i < groups.size(); ++i)
    text += (i ? " + " : "") + std::to_string(groups[i].size());
  return text + ")";
}

} // namespace

std::vector<int64_t> placeRanks(const Manifest &manifest,
                                const std::vector<std::string> &hosts,
                                bool anyHosts) {
  size_t ranks = manifest.ranks.size();
  if (hosts.size() != ranks)
    raise("the plan has ", ranks, ranks == 1 ? " rank" : " ranks", ", but ",
          hosts.size(), hosts.size() == 1 ? " process was" : " processes were",
          " started; start ", ranks, " (mpirun -n ", ranks, ", srun -n ", ranks,
          "), or run the ranks as threads of one with --transport=threads");
  std::vector<int64_t> rankOf(ranks);
  if (anyHosts) {
    std::iota(rankOf.begin(), rankOf.end(), 0);
    return rankOf;
  }
  std::vector<Group> plan = planned(manifest), launch = launched(hosts);
  std::vector<bool> taken(launch.size());
  for (const Group &group : plan) {
    size_t found = 0;
    while (found < launch.size() &&
           (taken[found] || launch[found].size() != group.size()))
      ++found;
    if (found == launch.size())
      raise("the plan's ranks lie on ", print(plan),
            ", but the processes were started on ", print(launch),
            "; place them alike (mpirun --host or --map-by, srun "
            "--distribution), compile for the hosts there are, or take them "
            "as they come with --any-hosts");
    taken[found] = true;
    for (size_t i = 0; i < group.size(); ++i)
      rankOf[launch[found][i]] = group[i];
  }
  return rankOf;
}

} // namespace stagewright::runtime
