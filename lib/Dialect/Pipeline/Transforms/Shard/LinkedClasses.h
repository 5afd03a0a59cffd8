//===- LinkedClasses.h - all linkage classes of a step ----------*- C++ -*-===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef STAGEWRIGHT_LIB_DIALECT_PIPELINE_TRANSFORMS_SHARD_LINKEDCLASSES_H
#define STAGEWRIGHT_LIB_DIALECT_PIPELINE_TRANSFORMS_SHARD_LINKEDCLASSES_H

#include "Layout.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "stagewright/Analysis/StepGraph.h"
#include <set>

namespace stagewright::pipeline {

/// A class of factors of dimensions that are split together, or equal classes
/// of equal layers: their arguments differ only in numbers in their names.
struct LinkedClasses {
  int64_t size = 0;  ///< Of the factor.
  int64_t count = 0; ///< Number of classes.
  /// Parameters and batches with the factor, and their layout if it is split;
  /// each argument once.
  llvm::SmallVector<std::pair<unsigned, Layout>> members;
  std::set<unsigned> ops; ///< Numbers of live operations with the factor.
  int64_t values = 0;     ///< Results of operations with the factor.
};

/// The classes of a step, in the order of their arguments, then of their
/// operations.
std::vector<LinkedClasses> linkedClassesOf(mlir::func::FuncOp step,
                                           const StepGraph &graph);

/// `op` as a user knows it: its name, the framework's name, and its scope
/// without numbers, as in `linalg.generic (dot_general) in h*/attn`.
std::string describe(mlir::Operation *op);

} // namespace stagewright::pipeline

#endif // STAGEWRIGHT_LIB_DIALECT_PIPELINE_TRANSFORMS_SHARD_LINKEDCLASSES_H
