//===- RepeatLevels.h - shards that repeat their forwards -------*- C++ -*-===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Finds the levels of shards that repeat their forwards together, which are the
// levels of one layer of a gang, and lets them do so by pipeline-repeat-layers.
//
//===----------------------------------------------------------------------===//

#ifndef STAGEWRIGHT_LIB_PIPELINES_REPEATLEVELS_H
#define STAGEWRIGHT_LIB_PIPELINES_REPEATLEVELS_H

#include "ShardLevels.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/Diagnostics.h"
#include "mlir/IR/OwningOpRef.h"
#include "mlir/Pass/PassManager.h"
#include "stagewright/Pipelines/Compile.h"
#include "stagewright/Planning/Plan.h"

namespace stagewright {

/// Levels [first, end).
struct LevelRange {
  size_t first = 0, end = 0;
};

/// The levels of each layer of the gang that repeats its forward in `plan`,
/// which solves gangProblems() of `fine` and `layers`.
std::vector<LevelRange>
repeatedIn(const Plan &plan, const ShardedLayers &layers, const Problem &fine);

/// The levels of each layer of the gang but the last, whose backward follows
/// its forward.
std::vector<LevelRange> allButLast(const ShardedLayers &layers);

/// An error if a layer of `graph` repeats the forward of another.
mlir::LogicalResult checkNotRepeated(pipeline::GraphOp graph);

/// Adds the passes that let `ranges` of `levels` repeat their forwards, and
/// estimate the costs of the new nodes.
void buildRepeats(mlir::OpPassManager &manager,
                  const std::vector<ShardLevel> &levels,
                  const std::vector<LevelRange> &ranges,
                  const CompileOptions &options);

/// A copy of a graph in which some layers repeat their forwards.
struct RepeatedGraph {
  mlir::OwningOpRef<mlir::ModuleOp> module;
  Problem problem;

  pipeline::GraphOp graph() const {
    return *module.get().getOps<pipeline::GraphOp>().begin();
  }
};

/// The copy of `graph` in which `ranges` of `levels` repeat their forwards,
/// with its problem on `cluster`.
mlir::FailureOr<RepeatedGraph>
repeatForwards(pipeline::GraphOp graph, const std::vector<ShardLevel> &levels,
               const std::vector<LevelRange> &ranges, const Cluster &cluster,
               const CompileOptions &options);

} // namespace stagewright

#endif // STAGEWRIGHT_LIB_PIPELINES_REPEATLEVELS_H
