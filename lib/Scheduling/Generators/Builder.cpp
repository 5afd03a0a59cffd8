//===- Builder.cpp - building the order of a rank -------------------------===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Builder.h"
#include "stagewright/Support/Limits.h"
#include <cmath>

namespace stagewright {

void Builder::run(ActionKind kind, int64_t stage) {
  int64_t microbatch = first[stage];
  switch (kind) {
  case ActionKind::Forward:
    microbatch += forwards[stage]++;
    break;
  case ActionKind::Backward:
    microbatch += inputGradients[stage]++;
    ++weightGradients[stage];
    break;
  case ActionKind::InputGradient:
    microbatch += inputGradients[stage]++;
    break;
  case ActionKind::WeightGradient:
    microbatch += weightGradients[stage]++;
    break;
  case ActionKind::Recompute:
  case ActionKind::Update:
    break;
  }
  if (kind == ActionKind::Forward || !forwardOnly)
    order.push_back({kind, stage, microbatch});
}

void Builder::pair(int64_t forwardStage, int64_t backwardStage) {
  run(ActionKind::Forward, forwardStage);
  run(ActionKind::Backward, backwardStage);
  if (!forwardOnly)
    order.back().paired = true;
}

Error needs(const char *kind, const std::string &what) {
  return Error{"schedule '" + std::string(kind) + "' needs " + what};
}

Result<double> checkHopRatio(const char *kind, const ScheduleShape &shape) {
  if (!std::isfinite(shape.hopRatio) || shape.hopRatio < 0)
    return needs(kind, "a ratio of hop to forward that is finite and not "
                       "negative, got " +
                           std::to_string(shape.hopRatio));
  return shape.hopRatio;
}

Result<Schedule> startSchedule(const char *kind, const ScheduleShape &shape,
                               Placement placement, int64_t leastChunks,
                               int64_t mostChunks) {
  if (shape.ranks < 1 || shape.microbatches < 1 || shape.chunks < 1 ||
      shape.group < 0)
    return needs(kind, "at least 1 rank, 1 microbatch and 1 chunk, got " +
                           std::to_string(shape.ranks) + ", " +
                           std::to_string(shape.microbatches) + " and " +
                           std::to_string(shape.chunks));
  if (shape.chunks < leastChunks ||
      (mostChunks != 0 && shape.chunks > mostChunks)) {
    std::string wanted = std::to_string(leastChunks) + " chunk" +
                         (leastChunks == 1 ? "" : "s") + " per rank";
    if (mostChunks != leastChunks)
      wanted += " or more";
    return needs(kind, wanted + ", got " + std::to_string(shape.chunks) +
                           "; set the number of chunks" +
                           (mostChunks == 1 ? ", or take interleaved" : ""));
  }
  if (shape.ranks > kMostForwards || shape.chunks > kMostForwards ||
      shape.microbatches > kMostForwards / shape.ranks / shape.chunks)
    return needs(
        kind, "at most " + std::to_string(kMostForwards) +
                  " forwards in all, got " + std::to_string(shape.ranks) +
                  " ranks, " + std::to_string(shape.chunks) + " chunks and " +
                  std::to_string(shape.microbatches) + " microbatches");
  return Schedule{kind,
                  numStages(placement, shape.ranks, shape.chunks, shape.spare),
                  shape.microbatches,
                  {}};
}

} // namespace stagewright
