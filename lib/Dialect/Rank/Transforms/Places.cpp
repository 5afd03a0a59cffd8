//===- Places.cpp - live bytes of a rank, and overlap checks --------------===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "stagewright/Dialect/Rank/Transforms/Machine.h"
#include <algorithm>
#include <map>

using namespace stagewright::rank;

namespace {

/// Slots of placed stashes that are held, by their first byte; they are
/// disjoint.
class Held {
public:
  explicit Held(const RankEvents &rank) : rank(rank) {}

  /// The stash with a held slot that overlaps bytes [begin, end), or null.
  const Ring *find(int64_t begin, int64_t end) const {
    auto after = slots.lower_bound(end);
    if (after == slots.begin())
      return nullptr;
    auto [first, stash] = *std::prev(after);
    const Ring &ring = rank.stashes[stash];
    return first + ring.stride > begin ? &ring : nullptr;
  }
  void insert(const Event &event) { slots[firstByte(event)] = event.object; }
  void erase(const Event &event) { slots.erase(firstByte(event)); }

  /// The first byte of the slot that `event` acquires or releases.
  int64_t firstByte(const Event &event) const {
    const Ring &ring = rank.stashes[event.object];
    return ring.place + (ring.starts.empty()
                             ? event.microbatch % ring.slots * ring.stride
                             : ring.starts[event.microbatch]);
  }

private:
  const RankEvents &rank;
  std::map<int64_t, int32_t> slots;
};

Fault overlap(const Event &event, int64_t begin, int64_t end,
              const std::string &what, const void *other) {
  Fault fault{{"bytes " + std::to_string(begin) + " to " + std::to_string(end) +
                   " of the workspace are used here, but " + what,
               event.origin},
              {}};
  if (other)
    fault.notes.push_back({"the stash is declared here", other});
  return fault;
}

/// The max, over all events, of the bytes of held slots plus, during a call,
/// what `bytesOf` returns for it.
template <typename BytesOf>
int64_t peakOf(const RankEvents &rank, BytesOf bytesOf) {
  int64_t held = 0, peak = 0;
  if (rank.isReadyFirst()) { // All credits may be in use at once.
    for (const Ring &stash : rank.stashes)
      held += stash.slots * stash.stride;
    for (const Event &event : rank.events)
      if (event.kind == EventKind::Call)
        peak = std::max(peak, bytesOf(event));
    return held + peak;
  }
  for (const Event &event : rank.events) {
    if (event.kind == EventKind::Acquire)
      held += rank.stashes[event.object].stride;
    if (event.kind == EventKind::Release)
      held -= rank.stashes[event.object].stride;
    peak = std::max(
        peak, held + (event.kind == EventKind::Call ? bytesOf(event) : 0));
  }
  return peak;
}

} // namespace

std::optional<Fault> stagewright::rank::checkPlaces(const RankEvents &rank) {
  for (const Ring &stash : rank.stashes)
    if (rank.isReadyFirst() && stash.place >= 0)
      return Fault{{"stash '" + stash.name +
                        "' shares bytes of the workspace "
                        "by an order of actions, but its rank has none; give "
                        "it memory of its own",
                    stash.origin},
                   {}};
  Held held(rank);
  auto collide = [&](const Event &event, int64_t begin,
                     int64_t end) -> std::optional<Fault> {
    if (const Ring *other = held.find(begin, end))
      return overlap(event, begin, end,
                     "stash '" + other->name + "' is held in them",
                     other->origin);
    return std::nullopt;
  };
  for (const Event &event : rank.events) {
    if (event.kind == EventKind::Call && !rank.calls.empty()) {
      auto ranges = rank.calls[event.object].ranges;
      std::sort(ranges.begin(), ranges.end());
      for (size_t i = 0; i < ranges.size(); ++i) {
        auto [begin, end] = ranges[i];
        if (auto fault = collide(event, begin, end))
          return fault;
        if (i > 0 && begin < ranges[i - 1].second)
          return overlap(event, begin, end,
                         "another value of the action lives in them", nullptr);
      }
    }
    bool placed = (event.kind == EventKind::Acquire ||
                   event.kind == EventKind::Release) &&
                  rank.stashes[event.object].place >= 0;
    if (!placed)
      continue;
    if (event.kind == EventKind::Release) {
      held.erase(event);
      continue;
    }
    int64_t first = held.firstByte(event);
    if (auto fault =
            collide(event, first, first + rank.stashes[event.object].stride))
      return fault;
    held.insert(event);
  }
  return std::nullopt;
}

int64_t stagewright::rank::livePeak(const RankEvents &rank) {
  return peakOf(rank, [](const Event &call) { return call.bytes; });
}

int64_t stagewright::rank::liveBound(const RankEvents &rank) {
  return peakOf(rank, [&](const Event &call) {
    return rank.calls.empty() ? call.bytes : rank.calls[call.object].bound;
  });
}
