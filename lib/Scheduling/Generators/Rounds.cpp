//===- Rounds.cpp - depth-first order of chunks ---------------------------===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Rounds.h"
#include "Builder.h"
#include <algorithm>

namespace stagewright {

std::vector<int64_t> rounds(const ScheduleShape &shape, int64_t rank,
                            int64_t group, bool backward) {
  std::vector<int64_t> stages;
  for (int64_t first = 0; first < shape.microbatches; first += group) {
    int64_t size = std::min(group, shape.microbatches - first);
    for (int64_t chunk = 0; chunk < shape.chunks; ++chunk) {
      int64_t turn = backward ? shape.chunks - 1 - chunk : chunk;
      stages.insert(stages.end(), size, turn * shape.ranks + rank);
    }
  }
  return stages;
}

/// The group size G of `shape`, by default p. Every group must have at least p
/// microbatches; with fewer, ranks would wait for each other. Only a single
/// group of all microbatches, if set explicitly, may be smaller.
static Result<int64_t> checkGroup(const char *kind,
                                  const ScheduleShape &shape) {
  int64_t p = shape.ranks, m = shape.microbatches;
  int64_t group = shape.group == 0 ? p : shape.group;
  if (group >= m && (shape.group != 0 || m == p))
    return m;
  std::string ranks = std::to_string(p);
  if (group < p)
    return needs(kind, "groups of at least " + ranks +
                           " microbatches on as many ranks, got " +
                           std::to_string(group) + "; take a group of " +
                           ranks);
  if (m % group == 0 || m % group >= p)
    return group;
  std::string error =
      "groups of at least " + ranks + " microbatches on as many ranks, but " +
      std::to_string(m) + " in groups of " + std::to_string(group) +
      " leave one of " + std::to_string(m % group) + "; take ";
  if (m > group)
    error += std::to_string(m - m % group) + " or ";
  return needs(kind, error + std::to_string(m - m % group + group) +
                         " microbatches, or a group of " + std::to_string(m));
}

/// The order of one rank.
static Order orderOf(const ScheduleShape &shape, int64_t rank, int64_t group,
                     int64_t forwardsPerHop, bool split) {
  using enum ActionKind;
  Builder order(shape.ranks * shape.chunks, shape.forwardOnly);
  std::vector<int64_t> forwards = rounds(shape, rank, group, false);
  std::vector<int64_t> backwards = rounds(shape, rank, group, true);
  size_t count = forwards.size(), behind = split ? rank : 0;
  size_t warmUp = std::min<size_t>(
      (shape.chunks - 1) * group + forwardsPerHop * (shape.ranks - 1 - rank),
      count);
  for (size_t i = 0; i < warmUp + count + behind; ++i) {
    if (i < count)
      order.run(Forward, forwards[i]);
    if (i >= warmUp && i < warmUp + count)
      order.run(split ? InputGradient : Backward, backwards[i - warmUp]);
    if (split && i >= warmUp + behind)
      order.run(WeightGradient, backwards[i - warmUp - behind]);
  }
  return order.take();
}

Result<Schedule> depthFirst(const char *kind, const ScheduleShape &shape,
                            int64_t forwardsPerHop, bool split) {
  Result<Schedule> schedule = startSchedule(kind, shape, Placement::Loop, 2, 0);
  if (!schedule)
    return schedule;
  Result<int64_t> group = checkGroup(kind, shape);
  if (!group)
    return group.error();
  for (int64_t rank = 0; rank < shape.ranks; ++rank)
    schedule->ranks.push_back(
        orderOf(shape, rank, *group, forwardsPerHop, split));
  return schedule;
}

} // namespace stagewright
