//===- PipelineRows.h - the blocks of a pipeline, row by row ----*- C++ -*-===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Private to this folder: a PipelineModel as rows. A row is the same block of
// all microbatches, such as the forwards of stage 3. Its block of microbatch m
// waits for blocks of m, and for those of earlier microbatches that free its
// slot or send to it over a channel with a distance. A rebuild reuses the
// memory.
//
//===----------------------------------------------------------------------===//

#ifndef STAGEWRIGHT_SIMULATION_PIPELINEROWS_H
#define STAGEWRIGHT_SIMULATION_PIPELINEROWS_H

#include "stagewright/Simulation/PipelineTimeline.h"
#include <span>

namespace stagewright {

/// Time as a number of ticks; a tick is 10^n seconds for some integer n.
using Ticks = int64_t;

/// Converts between seconds and ticks.
class TickScale {
public:
  /// The longest block has at most 10^14 ticks, so that rounding errors of sums
  /// of doubles vanish, and fewer if the ticks of a step would overflow.
  static TickScale of(const PipelineModel &model);

  Ticks ticks(Seconds seconds) const;
  Seconds seconds(Ticks ticks) const;

  friend bool operator==(const TickScale &, const TickScale &) = default;

private:
  double power = 1;     ///< Ticks per second, or seconds per tick.
  bool divides = false; ///< Seconds per tick: a tick exceeds a second.
};

/// A range of the list of numbers that all rows share.
struct Part {
  uint32_t begin = 0, end = 0;
};

inline constexpr uint32_t kNoRow = std::numeric_limits<uint32_t>::max();

/// The same block of all microbatches.
struct PipelineRow {
  BlockKind kind = BlockKind::Forward;
  uint32_t number = 0; ///< Of the stage or the channel.
  Ticks duration = 0;
  Ticks lastExtra = 0;   ///< Added for the last microbatch.
  int64_t window = 0;    ///< Number of the window of microbatch 0.
  bool backward = false; ///< I, W or B, or a transfer of gradients.
  bool transfer = false;
  bool frees = false; ///< Its end completes its microbatch on the stage.
  Part lanes;         ///< Resources; microbatch m uses m % size.
  Part shared;        ///< Resources used too: one list, or one for each lane.
  Ticks latency = 0;  ///< `shared` is free again this long before the end.
  Part before, after; ///< Rows waited for, and rows that wait.
  /// Microbatch m + madeSlots of row `makesFree` also waits for m of this row.
  /// kNoRow: none. `freedBy`: the rows whose makesFree is this row.
  uint32_t makesFree = kNoRow, madeSlots = 0;
  Part freedBy;
};

/// Which stages split backwards or recompute, and for which microbatches.
struct SplitBackwards {
  /// By stage: some microbatch runs I and W separately; some recomputes.
  std::vector<bool> apart, recompute;
  /// By stage and microbatch, for those stages: this microbatch runs I and W as
  /// one block; this microbatch does not recompute.
  std::vector<std::vector<bool>> fused, plain;
};

/// All rows of a model. Resources are the processors, then the links.
class PipelineRows {
public:
  /// Without `split` every backward is one block.
  void build(const PipelineModel &model, const SplitBackwards *split);

  size_t size() const { return rows.size(); }
  const PipelineRow &operator[](size_t row) const { return rows[row]; }
  std::span<const uint32_t> list(Part part) const {
    return {numbers.data() + part.begin, part.end - part.begin};
  }
  /// The shared resources of the blocks of `lane`.
  std::span<const uint32_t> shared(const PipelineRow &row,
                                   uint32_t lane) const {
    uint32_t count = row.shared.end - row.shared.begin;
    if (count == 0)
      return {};
    return list(sharedParts[row.shared.begin + (count == 1 ? 0 : lane)]);
  }
  /// The row of a stage's `kind`; size() if it has none.
  size_t find(BlockKind kind, size_t stage) const;

  TickScale scale;
  /// By stage: its collective after its last backward, and during it.
  std::vector<Ticks> tails, overlapped;
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
  Part appendShared(const std::vector<std::vector<size_t>> &ofLanes,
                    size_t offset);

  std::vector<PipelineRow> rows;
  std::vector<uint32_t> numbers;
  std::vector<Part> sharedParts;
  std::vector<std::pair<uint32_t, uint32_t>> edges; ///< Rows: before, after.
  std::vector<uint32_t> forwardOf, gradientOf;      ///< Rows by stage.
};

} // namespace stagewright

#endif // STAGEWRIGHT_SIMULATION_PIPELINEROWS_H
