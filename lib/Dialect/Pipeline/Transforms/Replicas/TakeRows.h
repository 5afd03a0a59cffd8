//===- TakeRows.h - a body for a slice of the samples -----------*- C++ -*-===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Copies of functions for some samples of a microbatch, by the analysis in
// Rows.h, and functions that slice and join values of a microbatch.
//
//===----------------------------------------------------------------------===//

#ifndef STAGEWRIGHT_LIB_DIALECT_PIPELINE_TRANSFORMS_REPLICAS_TAKEROWS_H
#define STAGEWRIGHT_LIB_DIALECT_PIPELINE_TRANSFORMS_REPLICAS_TAKEROWS_H

#include "stagewright/Analysis/Rows.h"

namespace stagewright::pipeline {

/// Consecutive samples of a microbatch.
struct Samples {
  int64_t first = 0, count = 0;

  int64_t end() const { return first + count; }
  friend auto operator<=>(const Samples &, const Samples &) = default;
};

/// The type of a value of kind `kind` for `samples`.
mlir::Type typeFor(mlir::Type type, RowKind kind, Samples samples);

/// A copy of `body` for `samples`, not in any module. Arguments for which
/// `wholeArguments` is set have the rows of all samples.
mlir::func::FuncOp takeRows(mlir::func::FuncOp body, const BodyRows &rows,
                            Samples samples,
                            llvm::ArrayRef<bool> wholeArguments);

/// A function that slices the rows of `part` from a value of kind `kind` that
/// has the rows of `from`.
mlir::func::FuncOp makeSlice(mlir::Location loc, mlir::RankedTensorType whole,
                             RowKind kind, Samples from, Samples part);

/// A function that joins values with the rows of consecutive `parts`.
mlir::func::FuncOp makeJoin(mlir::Location loc, mlir::RankedTensorType whole,
                            RowKind kind, llvm::ArrayRef<Samples> parts);

/// A function that adds `count` values of `type`; it returns zeros if `count`
/// is 0.
mlir::func::FuncOp makeSum(mlir::Location loc, mlir::RankedTensorType type,
                           int64_t count);

} // namespace stagewright::pipeline

#endif // STAGEWRIGHT_LIB_DIALECT_PIPELINE_TRANSFORMS_REPLICAS_TAKEROWS_H
