//===- Segments.h - a schedule as loops -------------------------*- C++ -*-===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The order of a rank as a few loops whose bounds depend on the number of
// microbatches M, known only when the program runs. 1F1B on rank 0 of 2:
//
//   for m in [0, 2)      F(m)              bounds 0, 2
//   for m in [0, M - 2)  B(m), F(m + 2)    bounds 0, -2 + M
//   for m in [M - 2, M)  B(m)              bounds -2 + M, M
//
// Each bound is clamped to [0, M], so the same loops are correct for every
// M >= 1. They are derived from the orders, not written per generator: the
// orders for a large M and for M + 1 are each cut greedily into repetitions. A
// bound that is one larger for M + 1 grows with M; one that is equal is a
// constant. The result is then checked by expanding the loops for every M up to
// the large one, and for twice and three times the large one.
//
// An order that no generator makes for every M is cut in the same way, with
// constant bounds. Its loops may have steps of several microbatches, as in
// interleaved schedules, in which each chunk runs a group of microbatches
// before the next chunk does.
//
//===----------------------------------------------------------------------===//

#ifndef STAGEWRIGHT_SCHEDULING_SEGMENTS_H
#define STAGEWRIGHT_SCHEDULING_SEGMENTS_H

#include "stagewright/Scheduling/Generators.h"
#include <array>
#include <optional>

namespace stagewright {

/// Numbers of microbatches that cover all forms of the loops on `ranks` ranks:
/// too few to fill the pipeline, enough for no, one or some iterations of the
/// steady state, and many more.
constexpr std::array<int64_t, 5> formsOfLoops(int64_t ranks) {
  return {1, ranks, ranks + 1, 2 * ranks + 1, 4 * ranks + 5};
}

/// clamp(constant + (perMicrobatch ? M : 0), 0, M).
struct SegmentBound {
  int64_t constant = 0;
  bool perMicrobatch = false;

  int64_t at(int64_t microbatches) const;
  friend bool operator==(const SegmentBound &, const SegmentBound &) = default;
};

/// An action of a loop's body: microbatch m + offset in iteration m.
struct SegmentAction {
  ActionKind kind = ActionKind::Forward;
  int64_t stage = 0;
  int64_t offset = 0;

  friend bool operator==(const SegmentAction &,
                         const SegmentAction &) = default;
};

/// `for m in [low, high)` with a step: the actions of `body` in order.
struct Segment {
  SegmentBound low, high;
  std::vector<SegmentAction> body;
  int64_t step = 1;

  friend bool operator==(const Segment &, const Segment &) = default;
};

/// The loops of every rank of `family`, in order. An error names the rank and
/// the number of microbatches for which there are no loops.
Result<std::vector<std::vector<Segment>>>
compressToSegments(const ScheduleFamily &family);

/// `order`, of `microbatches` microbatches, as loops whose bodies have at most
/// `mostActions` actions in total; nothing if that is impossible.
std::optional<std::vector<Segment>>
compressOrder(const Order &order, int64_t microbatches, size_t mostActions);

/// The order that `segments` expand to for `microbatches` microbatches.
Order expandSegments(const std::vector<Segment> &segments,
                     int64_t microbatches);

} // namespace stagewright

#endif // STAGEWRIGHT_SCHEDULING_SEGMENTS_H
