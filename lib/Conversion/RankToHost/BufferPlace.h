//===- BufferPlace.h - where a tensor will lie --------------------*- C++
//-*-===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// In a body in which every operation writes in place (after one-shot analysis
// has put in its copies), the buffer of a tensor follows from the IR alone: a
// result lies where its destination lies, a slice is a box of what it is cut
// from. Found here without asking the analysis, so that its decisions, and ours
// about destinations, can be checked.
//
//===----------------------------------------------------------------------===//

#ifndef STAGEWRIGHT_CONVERSION_RANKTOHOST_BUFFERPLACE_H
#define STAGEWRIGHT_CONVERSION_RANKTOHOST_BUFFERPLACE_H

#include "mlir/Dialect/Bufferization/IR/BufferizableOpInterface.h"
#include "mlir/Interfaces/ViewLikeInterface.h"

namespace stagewright::host {

/// A buffer, or a box of one.
struct BufferPlace {
  /// What allocates the buffer: a tensor without a destination, or a memref.
  mlir::Value root;
  /// The shape in which the box is counted: that of the buffer, or of a reshape
  /// of it.
  llvm::SmallVector<int64_t> shape;
  /// The box; empty if it is the whole buffer. Where a slice of a slice has no
  /// form as a box, the outer box stands for it.
  llvm::SmallVector<mlir::OpFoldResult> offsets, sizes, strides;

  /// Whether both are one box of one buffer, for certain.
  bool operator==(const BufferPlace &other) const;
  /// Whether an element may lie in both.
  bool mayOverlap(const BufferPlace &other) const;
  /// Whether every element of this lies in `outer`, for certain.
  bool isInside(const BufferPlace &outer) const;
};

/// The places of the tensors of one body. A value may have several, as the
/// result of a conditional has.
class BufferPlaces {
public:
  explicit BufferPlaces(const mlir::bufferization::AnalysisState &state)
      : state(state) {}

  /// Where tensor or memref `value` lies.
  llvm::SmallVector<BufferPlace, 1> of(mlir::Value value);
  /// The box of `place` that a slice with `slice`'s offsets, sizes and strides
  /// is.
  static BufferPlace cut(BufferPlace place, llvm::ArrayRef<int64_t> shape,
                         mlir::OffsetSizeAndStrideOpInterface slice);

private:
  llvm::SmallVector<BufferPlace, 1> find(mlir::Value value);
  /// The places of all of `values`, each once.
  llvm::SmallVector<BufferPlace, 1> unite(mlir::ValueRange values);

  const mlir::bufferization::AnalysisState &state;
  llvm::DenseMap<mlir::Value, llvm::SmallVector<BufferPlace, 1>> known;
};

} // namespace stagewright::host

#endif // STAGEWRIGHT_CONVERSION_RANKTOHOST_BUFFERPLACE_H
