//===- LoopSpace.h - loops and accesses of a linalg operation ---*- C++ -*-===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The loops of one operation on buffers as plain numbers: extents, which of
// them reduce, and for every operand the stride of each loop in memory. Loops
// of extent 1 are dropped, and loops that one loop can replace are merged. This
// file makes no choices (see LoopPlan.h), and emits no code except for the
// starts of views.
//
//===----------------------------------------------------------------------===//

#ifndef STAGEWRIGHT_CONVERSION_RANKTOHOST_LOOPS_LOOPSPACE_H
#define STAGEWRIGHT_CONVERSION_RANKTOHOST_LOOPS_LOOPSPACE_H

#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/IR/Builders.h"

namespace stagewright::host {

/// A buffer as a pointer, the distance from it to the first element, and
/// strides, in elements.
struct Place {
  mlir::Value buffer; ///< The pointer is its aligned pointer.
  mlir::Value start;  ///< The dynamic part of the distance, or null.
  int64_t offset = 0; ///< The static part of the distance.
  llvm::SmallVector<int64_t> strides;
};

/// The place of `buffer`; fails if its shape or a stride is dynamic. Emits the
/// arithmetic for dynamic starts at `builder`.
mlir::FailureOr<Place> locate(mlir::OpBuilder &builder, mlir::Value buffer);

/// The access of one operand, or of one `memref.load` in the body.
struct Access {
  Place place;
  mlir::Type element;
  /// The stride of each loop, in elements.
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
  /// The accesses of the loads in the body.
  llvm::DenseMap<mlir::Operation *, Access> loads;
  /// For each loop of the operation: the loop here that counts it, or -1 if its
  /// extent is 1 or nothing but loads reads its index.
  llvm::SmallVector<int> counter;

  unsigned numLoops() const { return extents.size(); }
  mlir::Block &body() { return *op.getBlock(); }

  /// Calls `callback` on every access, of operands and of loads.
  void forEachAccess(llvm::function_ref<void(Access &)> callback);

  /// Fails unless extents are static and not 0, accesses are linear, and
  /// elements are i1, i8, index, or numbers of 16, 32 or 64 bits.
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
