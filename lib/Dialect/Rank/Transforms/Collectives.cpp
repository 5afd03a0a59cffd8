//===- Collectives.cpp - checks the order of sums over ranks --------------===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "stagewright/Dialect/Rank/Transforms/Machine.h"
#include <algorithm>
#include <map>
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

namespace {
/// The order in which ranks begin their sums, as a graph.
class BeginOrder {
public:
  BeginOrder(const Machine &machine, const std::vector<Events> &sums);

  /// Fails if no order of all sums suits every rank. For example, three ranks
  /// of which every two share a sum can begin these sums in a cycle, which no
  /// comparison of two ranks shows.
  std::optional<Fault> check() const;

private:
  /// A sum that a rank begins right before another one.
  struct Before {
    size_t sum, rank;
    const Event *event, *next;
  };
  Fault describe(const std::vector<size_t> &open) const;

  const Machine &machine;
  std::vector<std::vector<Before>> before; ///< By sum, or microbatch of it.
};
} // namespace

BeginOrder::BeginOrder(const Machine &machine, const std::vector<Events> &sums)
    : machine(machine) {
  std::map<std::pair<int32_t, int64_t>, size_t> numbers;
  for (size_t rank = 0; rank < sums.size(); ++rank) {
    std::optional<size_t> last;
    for (size_t i = 0; i < sums[rank].size(); ++i) {
      const Event *event = sums[rank][i];
      size_t own =
          numbers
              .try_emplace({event->object, event->microbatch}, numbers.size())
              .first->second;
      before.resize(numbers.size());
      if (last)
        before[own].push_back({*last, rank, sums[rank][i - 1], event});
      last = own;
    }
  }
}

std::optional<Fault> BeginOrder::check() const {
  std::vector<std::vector<size_t>> after(before.size());
  std::vector<size_t> open(before.size()), ready; // Open: how many are before.
  for (size_t sum = 0; sum < before.size(); ++sum) {
    open[sum] = before[sum].size();
    for (const Before &other : before[sum])
      after[other.sum].push_back(sum);
    if (open[sum] == 0)
      ready.push_back(sum);
  }
  size_t done = 0;
  for (; !ready.empty(); ++done) {
    size_t sum = ready.back();
    ready.pop_back();
    for (size_t next : after[sum])
      if (--open[next] == 0)
        ready.push_back(next);
  }
  if (done == before.size())
    return std::nullopt;
  return describe(open);
}

/// `open`: by sum, more than 0 if it is in a circle or behind one.
Fault BeginOrder::describe(const std::vector<size_t> &open) const {
  std::vector<const Before *> steps; // Backwards.
  std::map<size_t, size_t> seen;     // By sum: the number of its step.
  size_t sum = size_t(std::find_if(open.begin(), open.end(),
                                   [](size_t count) { return count > 0; }) -
                      open.begin());
  while (seen.try_emplace(sum, steps.size()).second) {
    steps.push_back(&*std::find_if(
        before[sum].begin(), before[sum].end(),
        [&](const Before &other) { return open[other.sum] > 0; }));
    sum = steps.back()->sum;
  }
  steps.erase(steps.begin(), steps.begin() + ptrdiff_t(seen[sum]));
  auto name = [&](const Event *event) {
    return machine.sums[size_t(event->object)].describe(event->microbatch);
  };
  Fault fault;
  for (size_t i = steps.size(); i-- > 0;) {
    const Before &step = *steps[i];
    std::string text = "rank " + std::to_string(step.rank) + " begins " +
                       name(step.event) + " before " + name(step.next);
    if (i + 1 == steps.size())
      fault.error = {"ranks begin collectives in a circle: " + text,
                     step.event->origin};
    else
      fault.notes.push_back({text, step.event->origin});
  }
  return fault;
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

std::optional<Fault> stagewright::rank::checkOrder(const Machine &machine) {
  return BeginOrder(machine, findSums(machine)).check();
}
