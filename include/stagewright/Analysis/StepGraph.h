//===- StepGraph.h - a step as a dense data-flow graph ----------*- C++ -*-===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The operations of `@step` numbered in program order, with operands and users
// in arrays, and the facts about each that graph formation starts from. An
// operation with regions (a loop, a generic) is one unit: values that its
// regions read from outside are its operands. Scalars (indices read from a
// tensor) are not values of the graph: every operation that reads one computes
// it. So the operation that makes a scalar has no users, and is live only if
// the step returns it. Built in linear time; the function is not changed.
//
//===----------------------------------------------------------------------===//

#ifndef STAGEWRIGHT_ANALYSIS_STEPGRAPH_H
#define STAGEWRIGHT_ANALYSIS_STEPGRAPH_H

#include "mlir/Interfaces/FunctionInterfaces.h"
#include "stagewright/Analysis/Work.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/SmallVector.h"

namespace stagewright::pipeline {

/// One operation of the step.
struct StepOp {
  mlir::Operation *op = nullptr;
  Work work{WorkKind::Heavy};
  /// Distinct tensors read, in order of first reading, with those from which
  /// the scalars that it reads (an index, a constant) are computed.
  llvm::SmallVector<mlir::Value, 4> operands;
  /// Operations that compute those scalars, in an order in which they can run.
  llvm::SmallVector<unsigned, 2> scalars;
  /// Numbers of the distinct operations that read a result, ascending.
  llvm::SmallVector<unsigned, 4> users;
  /// A result of the step depends on it.
  bool live = false;
  /// The loss, a result that is no gradient, or an operation with the attribute
  /// `pipeline.forward` depends on it, or it has that attribute.
  bool forward = false;
  /// It may be copied into every node that needs it instead of being sent: it
  /// depends on no argument, or ends a short chain of cheap operations that
  /// reads only parameters or only other arguments.
  bool free = false;

  /// Whether it belongs to a layer of the forward.
  bool isChained() const { return live && forward && !free; }
  /// Whether it belongs to a layer of the backward.
  bool isBackward() const { return live && !forward && !free; }
};

class StepGraph {
public:
  /// Fails with an error at the first operation with side effects, or at the
  /// function if it has several blocks.
  static mlir::FailureOr<StepGraph> create(mlir::FunctionOpInterface step);

  mlir::FunctionOpInterface step;
  std::vector<StepOp> ops;

  /// Number of the operation that makes `value`, -1 for an argument.
  int indexOf(mlir::Value value) const;
  /// The values that the step returns, by result number.
  mlir::ValueRange returned() const;
  /// Whether result `number` is a gradient.
  bool isGradient(unsigned number) const;
  /// Whether argument `number` is a parameter.
  bool isParameter(unsigned number) const;

private:
  /// Fills `operands` and `scalars` of an entry; the operations that it reads
  /// must have their entries.
  void collectOperands(StepOp &entry) const;
  void markLive();
  void markFree();

  llvm::DenseMap<mlir::Operation *, unsigned> indices;
};

} // namespace stagewright::pipeline

#endif // STAGEWRIGHT_ANALYSIS_STEPGRAPH_H
