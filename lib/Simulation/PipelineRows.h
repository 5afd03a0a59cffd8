//===- PipelineRows.h - the blocks of a pipeline, row by row ----*- C++ -*-===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Private to this room: a PipelineModel as rows. A row holds the same block of
// all microbatches, such as the forwards of stage 3; what its block of
// microbatch m waits for are blocks of m too. Memory is kept when it is built
// anew.
//
//===----------------------------------------------------------------------===//

#ifndef STAGEWRIGHT_SIMULATION_PIPELINEROWS_H
#define STAGEWRIGHT_SIMULATION_PIPELINEROWS_H

#include "stagewright/Simulation/PipelineTimeline.h"
#include <span>

namespace stagewright {

/// Time as a whole number of powers of ten of a second.
using Ticks = int64_t;

/// How many ticks a second has.
class TickScale {
public:
  /// At most 10^14 ticks for the longest block, so that the noise of sums of
  /// doubles is rounded away, and none for a step that overflows.
  static TickScale of(const PipelineModel &model);

  Ticks ticks(Seconds seconds) const;
  Seconds seconds(Ticks ticks) const;

private:
  double power = 1;     ///< Ticks in a second, or seconds in a tick.
  bool divides = false; ///< A tick is longer than a second.
};

/// Part of a list that all rows share.
struct Part {
  uint32_t begin = 0, end = 0;
};

inline constexpr uint32_t kNoRow = std::numeric_limits<uint32_t>::max();

/// The same block of all microbatches.
struct PipelineRow {
  BlockKind kind = BlockKind::Forward;
  uint32_t number = 0; ///< Of the stage or the channel.
  Ticks duration = 0;
  Ticks lastExtra = 0;   ///< What the last microbatch takes longer.
  int64_t window = 0;    ///< Window of microbatch 0.
  bool backward = false; ///< Backwards and transfers back.
  bool transfer = false;
  bool frees = false; ///< Ends the stay of a microbatch on the stage.
  Part lanes;         ///< Resources, of which m holds number m % size.
  Part shared;        ///< Resources that every block holds as well.
  Part before, after; ///< Rows waited for, and rows that wait.
  /// Microbatch m waits for m - freedSlots of row `freedBy` as well, and m +
  /// madeSlots of row `makesFree` for this one; kNoRow: for none.
  uint32_t freedBy = kNoRow, makesFree = kNoRow;
  uint32_t freedSlots = 0, madeSlots = 0;
};

/// How a schedule runs the backwards of the stages; by stage.
struct SplitBackwards {
  /// Some microbatch has I and W apart, or runs the forward again.
  std::vector<bool> apart, recompute;
  /// By stage and microbatch: such a stage runs this one's I and W in one; it
  /// does not run its forward again.
  std::vector<std::vector<bool>> fused, plain;
};

/// All rows of a model. Processors are the resources from 0, links follow.
class PipelineRows {
public:
  /// Without `split` every backward is one block.
  void build(const PipelineModel &model, const SplitBackwards *split);

  size_t size() const { return rows.size(); }
  const PipelineRow &operator[](size_t row) const { return rows[row]; }
  std::span<const uint32_t> list(Part part) const {
    return {numbers.data() + part.begin, part.end - part.begin};
  }
  /// The row of a stage's `kind`; size() if it has none.
  size_t find(BlockKind kind, size_t stage) const;

  TickScale scale;
  std::vector<Ticks> tails; ///< By stage.
  std::vector<Ticks> ties;
  std::vector<int64_t> depths; ///< By stage.
  int64_t deepest = 0;

private:
  void addStages(const PipelineModel &model, const SplitBackwards *split);
  void addCopies(const PipelineModel &model);
  void addChannels(const PipelineModel &model);
  void findDepths(const PipelineModel &model);
  void link();
  uint32_t add(PipelineRow row);
  Part append(const std::vector<size_t> &resources, size_t offset);

  std::vector<PipelineRow> rows;
  std::vector<uint32_t> numbers;
  std::vector<std::pair<uint32_t, uint32_t>> edges; ///< Rows: before, after.
  std::vector<uint32_t> forwardOf, gradientOf;      ///< Rows by stage.
};

} // namespace stagewright

#endif // STAGEWRIGHT_SIMULATION_PIPELINEROWS_H
