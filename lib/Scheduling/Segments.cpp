//===- Segments.cpp - a schedule as loops ---------------------------------===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "stagewright/Scheduling/Segments.h"
#include <algorithm>

namespace stagewright {

/// Max length of a loop body; the period of a schedule is only a few actions
/// per stage of the rank.
static constexpr size_t kLongestBody = 64;

int64_t SegmentBound::at(int64_t microbatches) const {
  int64_t value = constant + (perMicrobatch ? microbatches : 0);
  return std::clamp<int64_t>(value, 0, microbatches);
}

namespace {
/// A repetition in one order: `body` runs `count` times, first for microbatch
/// `first`, then each time `step` microbatches later.
struct Repetition {
  int64_t first = 0;
  int64_t count = 0;
  int64_t step = 1;
  std::vector<SegmentAction> body;
};
} // namespace

/// How many times order[at, at + length) runs in a row, each time `step`
/// microbatches later; at least 1.
static int64_t countRepeats(const Order &order, size_t at, size_t length,
                            int64_t step) {
  int64_t count = 1;
  for (size_t i = at + length; i < order.size(); ++i) {
    Action previous = order[i - length];
    previous.microbatch += step;
    if (order[i] != previous)
      break;
    if ((i + 1 - at) % length == 0)
      ++count;
  }
  return count;
}

/// Cuts `order` greedily into repetitions: at each point it takes the body that
/// covers the most actions, if there are several the shortest. Time: length of
/// the order, times the max body, times the number of repetitions.
static std::vector<Repetition> findRepetitions(const Order &order,
                                               int64_t longestStep) {
  std::vector<Repetition> repetitions;
  for (size_t at = 0; at < order.size();) {
    size_t best = 1, bestCovered = 0;
    int64_t bestStep = 1;
    for (size_t length = 1;
         length <= kLongestBody && at + length <= order.size(); ++length) {
      int64_t step = 1;
      if (at + length < order.size())
        step = std::clamp<int64_t>(order[at + length].microbatch -
                                       order[at].microbatch,
                                   1, longestStep);
      int64_t count = countRepeats(order, at, length, step);
      // A body that runs only once is not a repetition, except a single action.
      if (count == 1 && length > 1)
        continue;
      if (count * length > bestCovered) {
        best = length;
        bestCovered = count * length;
        bestStep = step;
      }
    }
    Repetition repetition;
    repetition.first = order[at].microbatch;
    repetition.count = static_cast<int64_t>(bestCovered / best);
    repetition.step = bestStep;
    for (size_t i = at; i < at + best; ++i)
      repetition.body.push_back({order[i].kind, order[i].stage,
                                 order[i].microbatch - repetition.first});
    repetitions.push_back(std::move(repetition));
    at += bestCovered;
  }
  return repetitions;
}

/// Finds the bound that is `now` for M = `microbatches` and `next` for M + 1;
/// false if there is none.
static bool matchBound(int64_t now, int64_t next, int64_t microbatches,
                       SegmentBound &bound) {
  if (next != now && next != now + 1)
    return false;
  bound.perMicrobatch = next == now + 1;
  bound.constant = now - (bound.perMicrobatch ? microbatches : 0);
  return true;
}

/// Makes loops of the repetitions for M and M + 1; false if they do not match.
static bool matchRepetitions(const std::vector<Repetition> &now,
                             const std::vector<Repetition> &next,
                             int64_t microbatches,
                             std::vector<Segment> &segments) {
  if (now.size() != next.size())
    return false;
  for (size_t i = 0; i < now.size(); ++i) {
    Segment segment;
    segment.body = now[i].body;
    if (now[i].body != next[i].body ||
        !matchBound(now[i].first, next[i].first, microbatches, segment.low) ||
        !matchBound(now[i].first + now[i].count, next[i].first + next[i].count,
                    microbatches, segment.high))
      return false;
    segments.push_back(std::move(segment));
  }
  return true;
}

Order expandSegments(const std::vector<Segment> &segments,
                     int64_t microbatches) {
  Order order;
  for (const Segment &segment : segments)
    for (int64_t m = segment.low.at(microbatches);
         m < segment.high.at(microbatches); m += segment.step)
      for (const SegmentAction &action : segment.body)
        order.push_back({action.kind, action.stage, m + action.offset});
  return order;
}

std::optional<std::vector<Segment>>
compressOrder(const Order &order, int64_t microbatches, size_t mostActions) {
  std::vector<Segment> segments;
  size_t actions = 0;
  for (Repetition &found : findRepetitions(order, microbatches)) {
    int64_t end = found.first + (found.count - 1) * found.step + 1;
    actions += found.body.size();
    segments.push_back({{found.first, false},
                        {end, false},
                        std::move(found.body),
                        found.step});
  }
  if (actions > mostActions)
    return std::nullopt;
  return segments;
}

/// The error if the orders of `rank` are not loops.
static Error notPeriodic(const Schedule &schedule, int64_t rank) {
  return Error{"schedule '" + schedule.kind + "' on rank " +
               std::to_string(rank) +
               " does not repeat in a way that loops can express with " +
               std::to_string(schedule.microbatches) + " microbatches"};
}

Result<std::vector<std::vector<Segment>>>
compressToSegments(const ScheduleFamily &family) {
  // Large enough that warm-up, steady state and drain do not overlap.
  int64_t large =
      4 * static_cast<int64_t>(family(1).ranks.size()) + int64_t(kLongestBody);
  Schedule now = family(large), next = family(large + 1);
  std::vector<std::vector<Segment>> segments(now.ranks.size());
  for (size_t rank = 0; rank < now.ranks.size(); ++rank)
    if (!matchRepetitions(findRepetitions(now.ranks[rank], 1),
                          findRepetitions(next.ranks[rank], 1), large,
                          segments[rank]))
      return notPeriodic(now, rank);

  std::vector<int64_t> checks = {2 * large, 3 * large};
  for (int64_t m = 1; m <= large + 1; ++m)
    checks.push_back(m);
  for (int64_t microbatches : checks) {
    Schedule expected = family(microbatches);
    for (size_t rank = 0; rank < segments.size(); ++rank)
      if (expandSegments(segments[rank], microbatches) != expected.ranks[rank])
        return notPeriodic(expected, rank);
  }
  return segments;
}

} // namespace stagewright
