//===- GraphLevels.h - recomputation levels of a graph's layers -*- C++ -*-===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Converts the levels of recomputation of forward nodes (`levels`) to a
// planner's problem: the values used at each level, and the recomputation time.
//
//===----------------------------------------------------------------------===//

#ifndef STAGEWRIGHT_LIB_ANALYSIS_GRAPHLEVELS_H
#define STAGEWRIGHT_LIB_ANALYSIS_GRAPHLEVELS_H

#include "stagewright/Dialect/Pipeline/IR/Pipeline.h"
#include "stagewright/Planning/Problem.h"

namespace stagewright::pipeline {

class HandedOver;

/// The number in Problem::values of each result of a node.
using ValueNumbers = llvm::DenseMap<mlir::Value, size_t>;

/// Adds the levels of all layers to `problem`, whose values must be those of
/// level 0.
void addLevels(GraphOp graph, const ValueNumbers &values,
               const HandedOver &handed, Problem &problem);

/// Fills RecomputeLevel::sampleTemporaries, once the samples are known.
void addSampleTemporaries(GraphOp graph, const HandedOver &handed,
                          Problem &problem);

} // namespace stagewright::pipeline

#endif // STAGEWRIGHT_LIB_ANALYSIS_GRAPHLEVELS_H
