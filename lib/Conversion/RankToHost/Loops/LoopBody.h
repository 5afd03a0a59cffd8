//===- LoopBody.h - the body of an operation on vectors ---------*- C++ -*-===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Writes what one point, or a vector of points, of a LoopSpace computes: reads,
// the operations of the body, writes. What does not change along the vector
// loop is written once, as scalars. Memory is read through pointers of LLVM: a
// `vector.load` of i1 would read bits, and descriptors cost compile time.
//
//===----------------------------------------------------------------------===//

#ifndef STAGEWRIGHT_CONVERSION_RANKTOHOST_LOOPS_LOOPBODY_H
#define STAGEWRIGHT_CONVERSION_RANKTOHOST_LOOPS_LOOPBODY_H

#include "LoopPlan.h"
#include "mlir/IR/IRMapping.h"

namespace stagewright::host {

/// How far the loops around have come.
struct Position {
  /// The number of each loop, null for one not entered yet.
  llvm::SmallVector<mlir::Value> numbers;

  Position entered(unsigned loop, mlir::Value number) const {
    Position next = *this;
    next.numbers[loop] = number;
    return next;
  }
};

class LoopBody {
public:
  LoopBody(LoopSpace &space, const LoopPlan &plan) : space(space), plan(plan) {}

  /// Writes what does not change along the vector loop.
  void writeScalars(mlir::OpBuilder &builder, const Position &position);

  /// Writes the rest for `piece`, counted from `position` (where the vector
  /// loop may be not entered: 0), given the values of carried results; stores
  /// the others. Returns the new values of carried results.
  llvm::SmallVector<mlir::Value> write(mlir::OpBuilder &builder,
                                       const Position &position, Piece piece,
                                       mlir::ValueRange carried);

  /// Writes a block whose operands are transposed in registers: the rows that
  /// begin at `position` in the loop across.
  void writeBlock(mlir::OpBuilder &builder, const Position &position);

  /// Reads and writes result `index` at `piece`.
  mlir::Value load(mlir::OpBuilder &builder, const Position &position,
                   Piece piece, unsigned index);
  void store(mlir::OpBuilder &builder, const Position &position, Piece piece,
             unsigned index, mlir::Value value);

  /// Whether the body reads the old value of result `index`.
  bool readsOld(unsigned index) const;

  mlir::Type vectorOf(mlir::Type element, int64_t width) const;
  /// One value for every lane.
  mlir::Value spread(mlir::OpBuilder &builder, mlir::Value value,
                     int64_t width) const;

private:
  using Vectors = llvm::SmallVector<mlir::Value>;

  Vectors readBlock(mlir::OpBuilder &builder, const Access &access,
                    const Position &position) const;
  Access &result(unsigned index) const {
    return space.accesses[space.op.getNumDpsInputs() + index];
  }
  mlir::Value distance(mlir::OpBuilder &builder, const Access &access,
                       const Position &position) const;
  mlir::Value pointer(mlir::OpBuilder &builder, const Access &access,
                      mlir::Value distance, int64_t more) const;
  mlir::Value pointers(mlir::OpBuilder &builder, const Access &access,
                       mlir::Value distance, Piece piece) const;
  mlir::Value read(mlir::OpBuilder &builder, const Access &access,
                   const Position &position, Piece piece) const;
  mlir::Value number(mlir::OpBuilder &builder, const Position &position,
                     Piece piece, mlir::Type type) const;
  void convert(mlir::OpBuilder &builder, mlir::Operation &op,
               const Position &position, Piece piece);

  LoopSpace &space;
  const LoopPlan &plan;
  mlir::IRMapping scalars;
  /// The row of a block, for transposed operands.
  mlir::IRMapping transposed;
  /// Of the piece that is being written.
  mlir::IRMapping values;
};

} // namespace stagewright::host

#endif // STAGEWRIGHT_CONVERSION_RANKTOHOST_LOOPS_LOOPBODY_H
