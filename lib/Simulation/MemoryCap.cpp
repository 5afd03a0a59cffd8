//===- MemoryCap.cpp - fewer credits where memory is short ----------------===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "MemoryCap.h"
#include "stagewright/Scheduling/ReadyFirst.h"
#include "stagewright/Scheduling/Routes.h"
#include "stagewright/Support/Text.h"
#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <set>

namespace stagewright {

namespace {
/// Relative errors of sums of amounts.
constexpr double kRounding = 1e-9;

/// Takes credits back until every rank has enough memory.
class MemoryCap {
public:
  MemoryCap(const Schedule &schedule, const CreditMemory &memory,
            std::vector<int64_t> &credits);

  Status run();

private:
  /// A ring on one rank.
  struct Part {
    const CreditRing &ring;
    size_t rank;
    /// By the microbatches of a route: the routes that have so many.
    std::map<int64_t, int64_t> routes;
  };
  double takenBy(const Part &part) const;
  void sumUp();
  void lower(int64_t stage);
  std::optional<int64_t> stageToLower(size_t rank) const;
  Error tooMuch(size_t rank) const;

  const CreditMemory &memory;
  int64_t microbatches;
  std::vector<int64_t> &credits;
  int64_t fewest;
  std::vector<Part> parts;
  std::vector<std::vector<size_t>> partsOf; ///< By stage that makes or uses.
  /// By rank: its stages with rings, and those that send to these.
  std::vector<std::set<int64_t>> users, senders;
  std::vector<double> held, limits; ///< By rank.
};
} // namespace

MemoryCap::MemoryCap(const Schedule &schedule, const CreditMemory &memory,
                     std::vector<int64_t> &credits)
    : memory(memory), microbatches(schedule.microbatches), credits(credits),
      fewest(*std::min_element(credits.begin(), credits.end())),
      partsOf(credits.size()), users(schedule.ranks.size()),
      senders(schedule.ranks.size()), held(schedule.ranks.size()),
      limits(schedule.ranks.size(), std::numeric_limits<double>::infinity()) {
  std::vector<Route> routes = routesOf(schedule);
  for (const CreditRing &ring : memory.rings) {
    auto last = size_t(ring.last.stage);
    std::map<int64_t, std::map<int64_t, int64_t>> byRank;
    for (const Route &route : routes) {
      const Stop &stop = route.stops[last];
      if (!ring.recomputes || *ring.recomputes == stop.recomputes)
        ++byRank[stop.rank][int64_t(route.microbatches.size())];
    }
    for (auto &[rank, own] : byRank) {
      partsOf[last].push_back(parts.size());
      if (ring.made.stage != ring.last.stage)
        partsOf[size_t(ring.made.stage)].push_back(parts.size());
      users[size_t(rank)].insert(ring.last.stage);
      senders[size_t(rank)].insert(ring.made.stage);
      parts.push_back({ring, size_t(rank), std::move(own)});
    }
  }
  for (const Route &route : routes)
    for (size_t stage = 0; stage < memory.limits.size(); ++stage) {
      double &limit = limits[size_t(route.stops[stage].rank)];
      limit = std::min(limit, memory.limits[stage]);
    }
  sumUp();
}

double MemoryCap::takenBy(const Part &part) const {
  int64_t slots = slotsOf(credits, fewest, part.ring.made, part.ring.last),
          all = 0;
  for (auto [turns, count] : part.routes)
    all += count * slotsOfTurns(slots, turns, microbatches);
  return part.ring.size * double(all);
}

void MemoryCap::sumUp() {
  std::fill(held.begin(), held.end(), 0);
  for (const Part &part : parts)
    held[part.rank] += takenBy(part);
}

/// Takes a credit from `stage`.
void MemoryCap::lower(int64_t stage) {
  const std::vector<size_t> &changed = partsOf[size_t(stage)];
  for (size_t number : changed)
    held[parts[number].rank] -= takenBy(parts[number]);
  int64_t before = fewest;
  fewest = std::min(fewest, --credits[size_t(stage)]);
  if (fewest / 2 != before / 2)
    return sumUp(); // The slots of all rings change.
  for (size_t number : changed)
    held[parts[number].rank] += takenBy(parts[number]);
}

/// The stage with the most credits of those that have a ring on `rank`, or, if
/// they have one each, of those that send to these rings.
std::optional<int64_t> MemoryCap::stageToLower(size_t rank) const {
  for (const std::set<int64_t> *stages : {&users[rank], &senders[rank]}) {
    auto most = std::max_element(
        stages->begin(), stages->end(), [&](int64_t a, int64_t b) {
          return credits[size_t(a)] < credits[size_t(b)];
        });
    if (most != stages->end() && credits[size_t(*most)] > 1)
      return *most;
  }
  return std::nullopt;
}

Error MemoryCap::tooMuch(size_t rank) const {
  auto amount = [&](double number) {
    return memory.inBytes ? toString(Bytes(int64_t(std::ceil(number))))
                          : plainly(number);
  };
  return Error{"rank " + std::to_string(rank) + " has " + amount(limits[rank]) +
               " left for microbatches in flight, but one on each of its "
               "stages takes " +
               amount(held[rank]) + ": give " +
               amount(held[rank] - limits[rank]) +
               " more with memory=, or more stages"};
}

/// Rings depend on the credits of other ranks too, so that all ranks are looked
/// at again after a change.
Status MemoryCap::run() {
  for (bool isDone = false; !isDone;) {
    isDone = true;
    for (size_t rank = 0; rank < held.size(); ++rank)
      while (held[rank] > limits[rank] * (1 + kRounding)) {
        std::optional<int64_t> stage = stageToLower(rank);
        if (!stage)
          return tooMuch(rank);
        lower(*stage);
        isDone = false;
      }
  }
  return {};
}

Status capByMemory(const Schedule &schedule, const CreditMemory &memory,
                   std::vector<int64_t> &credits) {
  if (memory.rings.empty())
    return {};
  return MemoryCap(schedule, memory, credits).run();
}

} // namespace stagewright
