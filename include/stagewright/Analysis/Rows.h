//===- Rows.h - how values depend on the rows of a microbatch ---*- C++ -*-===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Replicas of a stage work on slices of the samples of a microbatch. This
// analysis follows the batch dimension of the step's arguments through the
// bodies of a graph and says of every value what a slice of the samples makes
// of it. An operation that mixes rows (statistics of a batch, a capacity shared
// by its rows) makes its layer not sliceable, with a reason.
//
// Nothing is assumed of what is not known: an operation that no rule covers
// mixes rows. Linear in the number of operations, but for loops with carried
// values, whose bodies are looked at again until their kinds are stable.
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

/// What a slice of the samples makes of a value.
struct RowKind {
  enum Kind : uint8_t {
    Whole,   ///< The same for every slice.
    Rows,    ///< Dimension `dim` has `perSample` rows of each sample in turn.
    Partial, ///< A sum over rows: the values of all slices add up to it.
    Row,     ///< Inside a loop over rows: made of one row.
    Sum,     ///< Inside a loop over rows: carried value `dim`, so far.
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

/// Whether every element of `value` is zero, as far as is easily seen.
bool isZero(mlir::Value value);

/// Dimension of the smaller type for `dim` of the larger; -1: dropped.
int64_t withoutDropped(const llvm::SmallBitVector &dropped, int64_t dim);

/// What is known of a body for given kinds of its arguments.
struct BodyRows {
  /// Of values; those that are not in it are Whole.
  llvm::DenseMap<mlir::Value, RowKind> kinds;
  /// The loop over rows of a structured operation, and its rows per sample; of
  /// an scf.for that is one, loop 0.
  struct Loop {
    unsigned number = 0;
    int64_t perSample = 1;
  };
  llvm::DenseMap<mlir::Operation *, Loop> loops;
  /// Uses of whole values by rows: a slice takes its own.
  llvm::MapVector<mlir::OpOperand *, RowKind> wanted;
  std::optional<RowMix> mix;
  mlir::SmallVector<RowKind> results;

  RowKind kindOf(mlir::Value value) const { return kinds.lookup(value); }
};

/// Follows rows through `body`, whose arguments are of `arguments`.
BodyRows rowsOf(mlir::func::FuncOp body, llvm::ArrayRef<RowKind> arguments,
                int64_t samples);

/// Whether the uses of `index`, the number of a row, are all positions in
/// values of kind Rows, at their dimension of rows. Else it must be the number
/// among the rows of all slices.
bool isPositionAmongRows(const BodyRows &rows, mlir::OpOperand &use);

/// Lets values that only rows use be made by rows: moves slices towards what
/// makes them. For `rows` without a mix.
void narrowWholes(mlir::func::FuncOp body, BodyRows &rows);

/// A whole graph.
struct GraphRows {
  int64_t samples = 0; ///< Of a microbatch; 0: `mix` says why it is not known.
  std::optional<RowMix> mix;
  llvm::DenseMap<mlir::Value, RowKind> kinds; ///< Of arguments and results.
  llvm::DenseMap<mlir::Operation *, BodyRows *> bodies; ///< By node.
  std::map<int64_t, RowMix> mixes; ///< By layer that cannot be sliced.
  /// By body and kinds of its arguments.
  std::map<std::pair<mlir::Operation *, std::vector<RowKind>>,
           std::unique_ptr<BodyRows>>
      known;
};

/// Follows rows through `graph`, whose nodes need not have bodies: one without
/// is taken for sliceable unless it says otherwise.
GraphRows rowsOf(GraphOp graph);

} // namespace stagewright::pipeline

#endif // STAGEWRIGHT_ANALYSIS_ROWS_H
