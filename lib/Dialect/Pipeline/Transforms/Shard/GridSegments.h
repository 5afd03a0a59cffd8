//===- GridSegments.h - segments of a step over a grid ----------*- C++ -*-===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Between shards data crosses more often in the backward of a layer than in its
// forward, and levels are as low as possible. So if the levels of the whole
// step were numbered in one sequence, the backward of a layer would be far
// above its forward, and a stage would have the forward of some layers and the
// backward of others. A pipeline's step is therefore divided into segments,
// each with levels of its own: a segment ends where little data of the forward
// crosses, as after a residual connection, and has the backward of its forward.
//
//===----------------------------------------------------------------------===//

#ifndef STAGEWRIGHT_LIB_DIALECT_PIPELINE_TRANSFORMS_SHARD_GRIDSEGMENTS_H
#define STAGEWRIGHT_LIB_DIALECT_PIPELINE_TRANSFORMS_SHARD_GRIDSEGMENTS_H

#include "GridGraph.h"
#include <map>
#include <set>

namespace stagewright::pipeline {

/// Divides a step into segments, and notes them in the locations. A part that
/// several shards read in other segments is copied in each of these segments,
/// so that its shard sends it once. The arrays are indexed by operation number.
class Segmenter {
public:
  Segmenter(const StepGraph &graph, llvm::ArrayRef<int64_t> grid)
      : grid(graph, grid), segments(this->grid.size()) {}

  void run();

private:
  //===--- Forward --------------------------------------------------------===//
  /// By operation: twice its level, where the levels of the whole forward are
  /// numbered in one sequence; plus 1 if it reduces, or depends on an operation
  /// of its level and shard that reduces. A segment ends before these
  /// operations, as a level of a single axis is cut (Sharder.h).
  std::vector<int64_t> findPlaces() const;
  /// The places behind which segments end, ascending.
  std::vector<int64_t> findEnds(llvm::ArrayRef<int64_t> places) const;
  /// By place: the bytes of the values that the forward makes at this place or
  /// before, and reads behind it.
  std::map<int64_t, int64_t> countBytes(llvm::ArrayRef<int64_t> places) const;
  void findForward();

  //===--- Backward -------------------------------------------------------===//
  void findBackward();
  /// Sets the lowest segments: each operation is at least where what it reads
  /// of the forward is made, and where its users are.
  void findLowest();
  /// Raises `number`, as far as what it reads of the backward allows, to where
  /// the forward reads the same values and parameters; if it reads nothing of
  /// the forward, as far as possible, unless it joins parts.
  void raise(unsigned number);
  /// Lets cheap operations on values of the forward alone, which bound no
  /// others, follow their users.
  void followUsers();

  //===--- Both -----------------------------------------------------------===//
  /// Whether `to` is in a segment after that of `from`; in the backward, before
  /// it.
  bool follows(unsigned from, unsigned to) const {
    return grid.isBackward(from) ? segments[to] < segments[from]
                                 : segments[to] > segments[from];
  }
  /// Moves operations to the next segment, in the backward to the one before,
  /// if fewer bytes then cross to it: joins, and squares of which a norm takes
  /// the mean.
  void moveAcross(bool backward);
  bool savesBytes(unsigned number) const;
  void copySent(mlir::OpResult value, unsigned number);

  GridGraph grid;
  std::vector<int64_t> segments;
  std::vector<bool> isFactor; ///< For followUsers().
  /// By parameter: segments in which the forward reads it.
  llvm::DenseMap<mlir::Value, std::set<int64_t>> readers;
};

} // namespace stagewright::pipeline

#endif // STAGEWRIGHT_LIB_DIALECT_PIPELINE_TRANSFORMS_SHARD_GRIDSEGMENTS_H
