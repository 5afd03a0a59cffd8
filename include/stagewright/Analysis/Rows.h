//===- Rows.h - how values depend on the rows of a microbatch ---*- C++ -*-===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Replicas of a stage may work on slices of the samples of a microbatch. This
// analysis follows the batch dimension of the step's arguments through the
// bodies of a graph. For every value it finds how the value of a slice of the
// samples relates to that of the whole microbatch. An operation that mixes rows
// (statistics of a batch, a capacity shared by its rows) makes its layer not
// sliceable; the result states the reason.
//
// The analysis is conservative: an operation without a rule mixes rows. It
// takes time linear in the number of operations, except that bodies of loops
// with carried values are analysed again until the kinds are stable.
//
//===----------------------------------------------------------------------===//

#ifndef STAGEWRIGHT_ANALYSIS_ROWS_H
#define STAGEWRIGHT_ANALYSIS_ROWS_H

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "stagewright/Dialect/Pipeline/IR/Pipeline.h"
#include "llvm/ADT/MapVector.h"
#include <map>
#include <memory>

namespace stagewright::pipeline {

/// How a value depends on the slice of the samples.
struct RowKind {
  enum Kind : uint8_t {
    Whole,   ///< The same for every slice.
    Rows,    ///< Dimension `dim` has `perSample` rows of each sample, in order.
    Partial, ///< A sum over rows: the values of all slices add up to it.
    Row,     ///< Inside a loop over rows: computed from one row.
    Sum,     ///< Inside a loop over rows: a running sum; `dim` is its number.
    Mixed    ///< None of these.
  };
  Kind kind = Whole;
  int64_t dim = 0;
  int64_t perSample = 1;

  bool isRows() const { return kind == Rows; }
  friend auto operator<=>(const RowKind &, const RowKind &) = default;
};

/// The first operation that mixes rows.
struct RowMix {
  mlir::Location loc;
  std::string reason;
};

/// Whether every element of `value` is known to be zero from its definition.
bool isZero(mlir::Value value);

/// The dimension of a rank-reduced type that is dimension `dim` of the full
/// type; -1 if it is dropped.
int64_t withoutDropped(const llvm::SmallBitVector &dropped, int64_t dim);

/// The result of the analysis of a body for given kinds of its arguments.
struct BodyRows {
  /// Kinds of values; a value without an entry is Whole.
  llvm::DenseMap<mlir::Value, RowKind> kinds;
  /// The loop of a structured operation that iterates over rows, and its rows
  /// per sample; for an scf.for over rows, loop 0.
  struct Loop {
    unsigned number = 0;
    int64_t perSample = 1;
  };
  llvm::DenseMap<mlir::Operation *, Loop> loops;
  /// Operands that are whole values, each row of which is used only for the
  /// same row of the result. To compute a slice, only the slice's rows of such
  /// an operand are needed.
  llvm::MapVector<mlir::OpOperand *, RowKind> wanted;
  std::optional<RowMix> mix;
  mlir::SmallVector<RowKind> results;

  RowKind kindOf(mlir::Value value) const { return kinds.lookup(value); }
};

/// Analyses `body` for arguments of the kinds `arguments`.
BodyRows rowsOf(mlir::func::FuncOp body, llvm::ArrayRef<RowKind> arguments,
                int64_t samples);

/// Whether `use`, a use of the number of a row in a loop over rows, indexes the
/// row dimension of a value of kind Rows. Other uses need the number of the row
/// in the whole microbatch.
bool isPositionAmongRows(const BodyRows &rows, mlir::OpOperand &use);

/// Turns whole values that are only used by row into values of kind Rows, if
/// their operations can compute slices. Expects `rows` without a mix.
void narrowWholes(mlir::func::FuncOp body, BodyRows &rows);

/// The result of the analysis of a graph.
struct GraphRows {
  int64_t samples = 0; ///< In a microbatch; 0: no slices, for the reason `mix`.
  std::optional<RowMix> mix;
  llvm::DenseMap<mlir::Value, RowKind> kinds; ///< Of arguments and results.
  llvm::DenseMap<mlir::Operation *, BodyRows *> bodies; ///< By node.
  std::map<int64_t, RowMix> mixes; ///< By layer that cannot be sliced.
  /// Analysed bodies, by body and kinds of its arguments.
  std::map<std::pair<mlir::Operation *, std::vector<RowKind>>,
           std::unique_ptr<BodyRows>>
      known;
};

/// Analyses `graph`. A node without a body counts as sliceable unless an
/// attribute of it states otherwise.
GraphRows rowsOf(GraphOp graph);

} // namespace stagewright::pipeline

#endif // STAGEWRIGHT_ANALYSIS_ROWS_H
