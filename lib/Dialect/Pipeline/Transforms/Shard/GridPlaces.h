//===- GridPlaces.h - levels and shards on a grid ---------------*- C++ -*-===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A step is split over the axes of a grid one after another. So an operation
// has a shard along each axis, and the levels of a single axis (Sharder.h) say
// nothing about data that crosses along another one. The levels of a grid are
// computed from the edges of the whole step instead: as low as possible, so
// that data crosses between shards only upwards in the forward, only downwards
// in the backward, and a backward reads no forward value of a higher level.
// Linear in the number of edges.
//
//===----------------------------------------------------------------------===//

#ifndef STAGEWRIGHT_LIB_DIALECT_PIPELINE_TRANSFORMS_SHARD_GRIDPLACES_H
#define STAGEWRIGHT_LIB_DIALECT_PIPELINE_TRANSFORMS_SHARD_GRIDPLACES_H

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "stagewright/Analysis/Layers.h"

namespace stagewright::pipeline {

/// Replaces the names that a sharder gave to the operations of `step` by their
/// shards along axis `axis`, noted in their locations.
void noteShards(mlir::func::FuncOp step, unsigned axis);

/// Writes the sums and maxima over shards in `step` as linalg operations, so
/// that they can be split over another axis.
void writeSumsAsLoops(mlir::func::FuncOp step);

/// Names the operations of `step`, whose shards along all axes of `grid` are
/// noted, by level and shard: `h0.attn.t3.s2` is shard (1, 0) of a grid of 2 x
/// 2. `cuts`: whether stages can end between the segments (GridSegments.h) of
/// the step: after levels with even numbers. Fails with an error as
/// StepGraph::create() does.
mlir::LogicalResult placeOnGrid(mlir::func::FuncOp step,
                                llvm::ArrayRef<int64_t> grid, bool cuts);

/// The layers of a step for which placeOnGrid() succeeded, by level, then by
/// shard. A shard may have no operation of a level. Fails with an error if an
/// operation has lost its place.
mlir::FailureOr<Layers> layersOfGrid(const StepGraph &graph);

} // namespace stagewright::pipeline

#endif // STAGEWRIGHT_LIB_DIALECT_PIPELINE_TRANSFORMS_SHARD_GRIDPLACES_H
