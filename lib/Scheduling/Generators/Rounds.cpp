//===- Rounds.cpp - chunks by turns ---------------------------------------===//
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

Result<int64_t> checkGroup(const char *kind, const ScheduleShape &shape) {
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

} // namespace stagewright
