//===- SplitFunction.h - a function that does all parts' work ---*- C++ -*-===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Each part of an argument that is split becomes an argument of its own, and so
// do those of the result that belongs to it.
//
//===----------------------------------------------------------------------===//

#ifndef STAGEWRIGHT_LIB_DIALECT_PIPELINE_TRANSFORMS_SHARD_SPLITFUNCTION_H
#define STAGEWRIGHT_LIB_DIALECT_PIPELINE_TRANSFORMS_SHARD_SPLITFUNCTION_H

#include "Sharder.h"
#include <map>

namespace stagewright::pipeline {

/// `type` without dimension 0.
mlir::RankedTensorType rowType(mlir::RankedTensorType type);

/// How a row becomes a tensor of one row, of `rank` dimensions: 0 and 1 are its
/// first.
llvm::SmallVector<mlir::ReassociationIndices> rowGroups(int64_t rank);

struct FunctionSplitter {
  int64_t ways = 1;
  bool scatters = false; ///< As a Sharder does.
  /// Parts are single rows of stacks, and arguments lack that dimension.
  bool rows = false;

  /// Replaces `function`, a step with its graph or an optimizer without, by one
  /// for all parts.
  Boxes split(mlir::func::FuncOp function, const StepGraph *graph,
              llvm::ArrayRef<Layout> layouts) const;

  /// The same of an optimizer, whose parameters and gradients are split as the
  /// step's at these positions are, and state as what replaces it is.
  Boxes splitUpdate(mlir::func::FuncOp update,
                    const std::map<int64_t, Layout> &ofStep) const;

private:
  llvm::SmallVector<int64_t> addArguments(mlir::func::FuncOp function,
                                          llvm::ArrayRef<Layout> layouts,
                                          mlir::OpBuilder &builder,
                                          Sharder &sharder) const;
  mlir::DictionaryAttr partAttributes(mlir::MLIRContext *context,
                                      mlir::DictionaryAttr whole, Layout layout,
                                      int64_t part) const;
  int64_t partsOf(Layout layout) const { return layout.isSplit() ? ways : 1; }
};

} // namespace stagewright::pipeline

#endif // STAGEWRIGHT_LIB_DIALECT_PIPELINE_TRANSFORMS_SHARD_SPLITFUNCTION_H
