//===- LoopNest.h - loops around the body of an operation -------*- C++ -*-===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Writes the loops that a LoopPlan chose, in one of two forms:
//
//   sums of rows, elementwise            sums along a row
//   for outer loops                      for outer loops
//     for vectors of the row               sums = neutral
//       sums = load                        for reducing loops
//       for reducing loops                   for vectors of the row
//         sums = body(sums)                    sums = body(sums)
//       store sums                         store old + (sums added up)
//
//===----------------------------------------------------------------------===//

#ifndef STAGEWRIGHT_CONVERSION_RANKTOHOST_LOOPS_LOOPNEST_H
#define STAGEWRIGHT_CONVERSION_RANKTOHOST_LOOPS_LOOPNEST_H

#include "LoopBody.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

namespace stagewright::host {

class LoopNest {
public:
  LoopNest(mlir::OpBuilder &builder, LoopSpace &space, const LoopPlan &plan)
      : builder(builder), space(space), plan(plan), body(space, plan) {}

  void write();

private:
  using Sums = llvm::SmallVector<mlir::Value>;
  using Inside = llvm::function_ref<Sums(const Position &, mlir::ValueRange)>;

  /// Writes `loops` around `inside`; `sums` are their loop-carried values.
  Sums writeLoops(llvm::ArrayRef<unsigned> loops, const Position &position,
                  mlir::ValueRange sums, Inside inside);
  /// Writes the vector loop around `inside`, which writes one iteration.
  Sums writeTurns(const Position &position, mlir::ValueRange sums,
                  Inside inside);
  mlir::scf::ForOp writeLoop(int64_t first, int64_t end, int64_t step,
                             mlir::ValueRange sums);

  void writeVertical(const Position &position);
  void writeColumns(const Position &position, llvm::ArrayRef<Piece> pieces);
  void writeHorizontal(const Position &position);
  void addUp(const Position &position, llvm::ArrayRef<Piece> pieces,
             mlir::ValueRange sums);

  mlir::OpBuilder &builder;
  LoopSpace &space;
  const LoopPlan &plan;
  LoopBody body;
  bool outermost = true;
};

} // namespace stagewright::host

#endif // STAGEWRIGHT_CONVERSION_RANKTOHOST_LOOPS_LOOPNEST_H
