//===- LoopBody.h - the body of an operation on vectors ---------*- C++ -*-===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Writes the code for one point, or a vector of points, of a LoopSpace: loads,
// the operations of the body, stores. What is invariant along the vector loop
// is written once, as scalars. Memory is accessed through LLVM pointers: a
// `vector.load` of i1 would read bits, and memref descriptors cost compile
// time.
//
//===----------------------------------------------------------------------===//

#ifndef STAGEWRIGHT_CONVERSION_RANKTOHOST_LOOPS_LOOPBODY_H
#define STAGEWRIGHT_CONVERSION_RANKTOHOST_LOOPS_LOOPBODY_H

#include "LoopPlan.h"
#include "mlir/IR/IRMapping.h"

namespace stagewright::host {

/// The current iteration of the enclosing loops.
struct Position {
  /// The index of each loop, null for one not entered yet.
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

  /// Writes what is invariant along the vector loop.
  void writeScalars(mlir::OpBuilder &builder, const Position &position);

  /// Writes the rest of the body for `piece`, given the values of the carried
  /// results. `piece` is relative to the index of the vector loop in
  /// `position`, or to 0 if that loop is not entered. Returns the new values of
  /// the carried results and stores the other results.
  llvm::SmallVector<mlir::Value> write(mlir::OpBuilder &builder,
                                       const Position &position, Piece piece,
                                       mlir::ValueRange carried);

  /// Loads and stores result `index` at `piece`.
  mlir::Value load(mlir::OpBuilder &builder, const Position &position,
                   Piece piece, unsigned index);
  void store(mlir::OpBuilder &builder, const Position &position, Piece piece,
             unsigned index, mlir::Value value);

  /// Whether the body reads the old value of result `index`.
  bool readsOld(unsigned index) const;

  mlir::Type vectorOf(mlir::Type element, int64_t width) const;
  /// Broadcasts `value` to all lanes.
  mlir::Value spread(mlir::OpBuilder &builder, mlir::Value value,
                     int64_t width) const;

private:
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
  /// Values of the piece that is being written.
  mlir::IRMapping values;
};

} // namespace stagewright::host

#endif // STAGEWRIGHT_CONVERSION_RANKTOHOST_LOOPS_LOOPBODY_H
