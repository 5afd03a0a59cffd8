//===- Attention.h - a common view of the attention operations --*- C++ -*-===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A common view of pipeline.attention, its gradient and the two operations into
// which the gradient is split: operands by name, and the dimensions of the
// iteration space. Attention is described in
// dialects/Pipeline/PipelineAttentionOps.td.
//
//===----------------------------------------------------------------------===//

#ifndef STAGEWRIGHT_DIALECT_PIPELINE_IR_ATTENTION_H
#define STAGEWRIGHT_DIALECT_PIPELINE_IR_ATTENTION_H

#include "stagewright/Dialect/Pipeline/IR/Pipeline.h"

namespace stagewright::pipeline {

class Attention {
public:
  /// The view of `op`; none if `op` is not one of the four operations.
  static std::optional<Attention> get(mlir::Operation *op);

  mlir::Operation *op;
  mlir::ValueRange inputs, outputs;
  mlir::ArrayAttr maps;
  float scale;
  std::optional<float> cap;
  bool causal;
  std::optional<float> fill;
  std::optional<float> kept; ///< factor of weights that dropout keeps
  /// Names of the operands that are present, in order.
  llvm::SmallVector<llvm::StringRef> names;
  /// Extents of the iteration space; 0 for a dimension that no map uses.
  llvm::SmallVector<int64_t> extents;

  bool has(llvm::StringRef name) const {
    return llvm::is_contained(names, name);
  }
  /// The operand of that name; null if it is absent.
  mlir::Value operand(llvm::StringRef name) const;
  mlir::AffineMap map(llvm::StringRef name) const;
  mlir::ShapedType type(llvm::StringRef name) const;

  //===--- Dimensions of the space ----------------------------------------===//
  unsigned batches() const { return unsigned(extents.size()) - 4; }
  unsigned queryDim() const { return batches(); }
  unsigned keyDim() const { return batches() + 1; }
  unsigned widthDim() const { return batches() + 2; }
  unsigned valueDim() const { return batches() + 3; }
  int64_t queries() const { return extents[queryDim()]; }
  int64_t keys() const { return extents[keyDim()]; }
  int64_t width() const { return extents[widthDim()]; }
  int64_t valueWidth() const { return extents[valueDim()]; }
  /// Number of query heads in all batches.
  int64_t heads() const;
  /// Multiplications and additions; halved if `causal` masks half of them.
  double flops() const;
};

} // namespace stagewright::pipeline

#endif // STAGEWRIGHT_DIALECT_PIPELINE_IR_ATTENTION_H
