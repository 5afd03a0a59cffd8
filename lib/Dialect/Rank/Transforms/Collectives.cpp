//===- Collectives.cpp - checks the order of sums over ranks --------------===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "stagewright/Dialect/Rank/Transforms/Machine.h"
#include <algorithm>
#include <set>

using namespace stagewright::rank;

using Events = std::vector<const Event *>;

/// By rank: the events that begin its sums, in program order.
static std::vector<Events> findSums(const Machine &machine) {
  std::vector<Events> found(machine.ranks.size());
  for (size_t rank = 0; rank < machine.ranks.size(); ++rank)
    for (const Event &event : machine.ranks[rank].events)
      if (event.kind == EventKind::Reduce)
        found[rank].push_back(&event);
  return found;
}

/// The events of `sums` whose sums include `rank`.
static Events sharedWith(const Machine &machine, const Events &sums,
                         int64_t rank) {
  Events shared;
  for (const Event *event : sums) {
    const std::vector<int64_t> &ranks = machine.sums[event->object].ranks;
    if (std::find(ranks.begin(), ranks.end(), rank) != ranks.end())
      shared.push_back(event);
  }
  return shared;
}

std::string Sum::kind() const {
  return exchanges ? "exchange" : gathers ? "gather" : "sum";
}

std::string Sum::describe(int64_t microbatch) const {
  return (gathers ? "microbatch " + std::to_string(microbatch) + " of " : "") +
         kind() + " '" + name + "'";
}

/// Checks that each rank of a sum begins it exactly once. Each rank begins a
/// gather at most once for each microbatch, and some rank begins it for some
/// microbatch.
static std::optional<Fault> checkCounts(const Machine &machine,
                                        const std::vector<Events> &sums) {
  std::vector<std::set<std::pair<int32_t, int64_t>>> begun(
      machine.ranks.size());
  for (size_t rank = 0; rank < machine.ranks.size(); ++rank)
    for (const Event *event : sums[rank])
      if (!begun[rank].insert({event->object, event->microbatch}).second)
        return Fault{{machine.sums[event->object].describe(event->microbatch) +
                          " begins twice on rank " + std::to_string(rank),
                      event->origin},
                     {}};
  for (size_t number = 0; number < machine.sums.size(); ++number) {
    const Sum &sum = machine.sums[number];
    auto begins = [&](int64_t rank) {
      auto first = begun[rank].lower_bound({int32_t(number), 0});
      return first != begun[rank].end() && first->first == int32_t(number);
    };
    if (sum.gathers) {
      if (std::none_of(sum.ranks.begin(), sum.ranks.end(), begins))
        return Fault{
            {sum.kind() + " '" + sum.name + "' never begins", sum.origin}, {}};
      continue;
    }
    for (int64_t rank : sum.ranks)
      if (!begins(rank))
        return Fault{{"sum '" + sum.name + "' never begins on rank " +
                          std::to_string(rank),
                      sum.origin},
                     {}};
  }
  return std::nullopt;
}

std::optional<Fault> stagewright::rank::checkSums(const Machine &machine) {
  if (machine.sums.empty())
    return std::nullopt;
  std::vector<Events> sums = findSums(machine);
  if (std::optional<Fault> fault = checkCounts(machine, sums))
    return fault;
  auto name = [&](const Event *event) {
    const Sum &sum = machine.sums[event->object];
    return sum.gathers ? sum.describe(event->microbatch) : "'" + sum.name + "'";
  };
  for (size_t left = 0; left < machine.ranks.size(); ++left)
    for (size_t right = left + 1; right < machine.ranks.size(); ++right) {
      Events ours = sharedWith(machine, sums[left], right);
      Events theirs = sharedWith(machine, sums[right], left);
      for (size_t i = 0; i < std::min(ours.size(), theirs.size()); ++i) {
        if (ours[i]->object == theirs[i]->object &&
            ours[i]->microbatch == theirs[i]->microbatch)
          continue;
        return Fault{{"ranks begin collectives in different orders: rank " +
                          std::to_string(left) + " begins " + name(ours[i]) +
                          " where rank " + std::to_string(right) + " begins " +
                          name(theirs[i]),
                      ours[i]->origin},
                     {{"rank " + std::to_string(right) + " begins " +
                           name(theirs[i]) + " here",
                       theirs[i]->origin}}};
      }
      if (ours.size() == theirs.size())
        continue;
      bool isOurs = ours.size() > theirs.size();
      const Event *more =
          isOurs ? ours[theirs.size()] : theirs[ours.size()]; // Of a gather.
      return Fault{{name(more) + " begins on rank " +
                        std::to_string(isOurs ? left : right) +
                        " but never on rank " +
                        std::to_string(isOurs ? right : left),
                    more->origin},
                   {}};
    }
  return std::nullopt;
}
