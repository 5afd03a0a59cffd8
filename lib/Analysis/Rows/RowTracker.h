//===- RowTracker.h - rows through the body of one function -----*- C++ -*-===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Private to this folder. One member function per family of operations; each
// sets the kinds of the results. If an operation mixes rows, the function
// records that and sets the results to Whole, as if the layer ran on whole
// microbatches.
//
//===----------------------------------------------------------------------===//

#ifndef STAGEWRIGHT_LIB_ANALYSIS_ROWS_ROWTRACKER_H
#define STAGEWRIGHT_LIB_ANALYSIS_ROWS_ROWTRACKER_H

#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "stagewright/Analysis/Rows.h"

namespace stagewright::pipeline {

/// The kind of the result of an operation on scalars, or elementwise on
/// tensors, for operands of `kinds`. `zeros`: which operands are zero. Partial
/// sums stay so under linear operations only; a value of the current row may be
/// added to a carried Sum.
RowKind combine(mlir::Operation *op, llvm::ArrayRef<RowKind> kinds,
                llvm::ArrayRef<bool> zeros);

class RowTracker {
public:
  RowTracker(int64_t samples, BodyRows &rows) : samples(samples), rows(rows) {}

  void visit(mlir::Block &block) {
    for (mlir::Operation &op : block)
      visit(op);
  }

private:
  void visit(mlir::Operation &op);
  void visitStructured(mlir::linalg::LinalgOp op);
  void visitElementwise(mlir::Operation &op);
  void visitUnknown(mlir::Operation &op);
  // Tensors (RowsOfTensors.cpp).
  bool visitTensorOp(mlir::Operation &op);
  void visitExpand(mlir::tensor::ExpandShapeOp op);
  void visitCollapse(mlir::tensor::CollapseShapeOp op);
  void visitExtract(mlir::tensor::ExtractOp op);
  void visitInsert(mlir::tensor::InsertOp op);
  void visitExtractSlice(mlir::tensor::ExtractSliceOp op);
  void visitInsertSlice(mlir::tensor::InsertSliceOp op);
  void visitPad(mlir::tensor::PadOp op);
  void visitConcat(mlir::tensor::ConcatOp op);
  bool visitAttention(mlir::Operation &op); ///< RowsOfAttention.cpp
  // Loops (RowsOfLoops.cpp).
  void visitFor(mlir::scf::ForOp op);
  void visitIf(mlir::scf::IfOp op);
  std::optional<int64_t> rowsPerSample(mlir::scf::ForOp op);
  bool tryFor(mlir::scf::ForOp op, llvm::ArrayRef<RowKind> carried);
  // Structured operations (RowsOfStructured.cpp).
  std::optional<BodyRows::Loop> findLoop(mlir::linalg::LinalgOp op);
  bool wantSlices(mlir::linalg::LinalgOp op, BodyRows::Loop loop);
  void setScalars(mlir::linalg::LinalgOp op, bool reducesRows);

  RowKind kindOf(mlir::Value value) const { return rows.kindOf(value); }
  void set(mlir::Value value, RowKind kind) {
    if (kind == RowKind())
      rows.kinds.erase(value);
    else
      rows.kinds[value] = kind;
  }
  void want(mlir::OpOperand &use, RowKind kind) { rows.wanted[&use] = kind; }
  /// Records that `op` mixes rows.
  void mix(mlir::Operation *op, const llvm::Twine &reason) {
    if (!rows.mix)
      rows.mix = RowMix{op->getLoc(), reason.str()};
    for (mlir::Value result : op->getResults())
      set(result, {});
  }
  /// Kind Rows for dimension `dim` of `type`; none unless the extent is a
  /// multiple of the number of samples.
  std::optional<RowKind> rowsAt(mlir::RankedTensorType type,
                                int64_t dim) const {
    int64_t size = type.getDimSize(dim);
    if (samples < 1 || size < samples || size % samples != 0)
      return std::nullopt;
    return RowKind{RowKind::Rows, dim, size / samples};
  }
  /// Whether `value` is the index of a row of the current loop.
  bool isRowNumber(mlir::OpFoldResult value, int64_t perSample) const;

  int64_t samples;
  BodyRows &rows;
  int64_t nextSum = 0;
  int64_t loopsAround = 0; ///< Loops over rows around the visited code.
};

} // namespace stagewright::pipeline

#endif // STAGEWRIGHT_LIB_ANALYSIS_ROWS_ROWTRACKER_H
