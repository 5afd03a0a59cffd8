//===- LoopSpace.h - what a linalg operation on buffers walks ---*- C++ -*-===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The loops of one operation as plain numbers: extents, which of them reduce,
// and for every operand how far each loop moves in memory. Loops of one turn
// are gone, and loops that walk memory as one are one. Nothing is chosen here
// (see LoopPlan.h), nothing is emitted but the start of views.
//
//===----------------------------------------------------------------------===//

#ifndef STAGEWRIGHT_CONVERSION_RANKTOHOST_LOOPS_LOOPSPACE_H
#define STAGEWRIGHT_CONVERSION_RANKTOHOST_LOOPS_LOOPSPACE_H

#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/IR/Builders.h"

namespace stagewright::host {

/// A buffer as a pointer, the distance of its first element from there, and
/// strides; distances are in elements.
struct Place {
  mlir::Value buffer; ///< Its aligned pointer is the pointer.
  mlir::Value start;  ///< The part of the distance known at run time, or null.
  int64_t offset = 0; ///< The rest of the distance.
  llvm::SmallVector<int64_t> strides;
};

/// Where `buffer` lies, or failure if a stride is dynamic. Emits the arithmetic
/// for dynamic starts at `builder`.
mlir::FailureOr<Place> locate(mlir::OpBuilder &builder, mlir::Value buffer);

/// What one operand, or one `memref.load` of the body, touches.
struct Access {
  Place place;
  mlir::Type element;
  /// Elements that one turn of each loop moves.
  llvm::SmallVector<int64_t> steps;
  /// Indices that the body computes, with their strides.
  llvm::SmallVector<std::pair<mlir::Value, int64_t>> computed;

  /// False for a scalar operand.
  bool isBuffer() const { return place.buffer != nullptr; }
};

struct LoopSpace {
  mlir::linalg::LinalgOp op;
  llvm::SmallVector<int64_t> extents;
  llvm::SmallVector<bool> reduced;
  /// One for each operand, in order.
  llvm::SmallVector<Access> accesses;
  /// Those of the loads in the body.
  llvm::DenseMap<mlir::Operation *, Access> loads;
  /// For each loop of the operation, the loop here that counts it, or -1 for
  /// one that has a single turn or whose number nobody asks for.
  llvm::SmallVector<int> counter;

  unsigned numLoops() const { return extents.size(); }
  mlir::Block &body() { return *op.getBlock(); }

  /// Calls `callback` on every access, of operands and of loads.
  void forEachAccess(llvm::function_ref<void(Access &)> callback);

  /// Failure if the operation is not one of static ranges, linear accesses and
  /// elements that are numbers of whole bytes (or i1).
  static mlir::FailureOr<LoopSpace> get(mlir::OpBuilder &builder,
                                        mlir::linalg::LinalgOp op);

private:
  bool addLoads(mlir::OpBuilder &builder);
  void dropUnitLoops();
  void mergeLoops();
  void eraseLoop(unsigned loop);
};

} // namespace stagewright::host

#endif // STAGEWRIGHT_CONVERSION_RANKTOHOST_LOOPS_LOOPSPACE_H
