//===- Attention.h - what the operands of attention are ---------*- C++ -*-===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// One view of pipeline.attention, its gradient and the halves of that: operands
// by name and the dimensions of their space. Attention is described in
// dialects/Pipeline/PipelineAttentionOps.td.
//
//===----------------------------------------------------------------------===//

#ifndef STAGEWRIGHT_DIALECT_PIPELINE_IR_ATTENTION_H
#define STAGEWRIGHT_DIALECT_PIPELINE_IR_ATTENTION_H

#include "stagewright/Dialect/Pipeline/IR/Pipeline.h"

namespace stagewright::pipeline {

class Attention {
public:
  /// Nothing if `op` is none of the four operations.
  static std::optional<Attention> get(mlir::Operation *op);

  mlir::Operation *op;
  mlir::ValueRange inputs, outputs;
  mlir::ArrayAttr maps;
  float scale;
  std::optional<float> cap;
  bool causal;
  std::optional<float> fill;
  std::optional<float> kept; ///< what dropout multiplies kept weights by
  /// Names of the operands that are there, in order.
  llvm::SmallVector<llvm::StringRef> names;
  /// Extents of the space; 0 for a dimension that no map has.
  llvm::SmallVector<int64_t> extents;

  bool has(llvm::StringRef name) const {
    return llvm::is_contained(names, name);
  }
  /// The operand of that name; null where there is none.
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
  /// Heads of queries, of all batches.
  int64_t heads() const;
  /// Multiplications and additions; half of them where `causal` leaves half.
  double flops() const;
};

} // namespace stagewright::pipeline

#endif // STAGEWRIGHT_DIALECT_PIPELINE_IR_ATTENTION_H
