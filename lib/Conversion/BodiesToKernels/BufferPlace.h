//===- BufferPlace.h - buffer locations of tensors --------------*- C++ -*-===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// After one-shot analysis has inserted copies, every operation of a body writes
// in place, and the buffer of a tensor follows from the IR alone: a result is
// in the buffer of its destination, a slice is a box of its source. Here the
// buffer is derived independently of the analysis, so that the decisions of the
// analysis, and our own about destinations, can be checked.
//
//===----------------------------------------------------------------------===//

#ifndef STAGEWRIGHT_LIB_CONVERSION_BODIESTOKERNELS_BUFFERPLACE_H
#define STAGEWRIGHT_LIB_CONVERSION_BODIESTOKERNELS_BUFFERPLACE_H

#include "mlir/Dialect/Bufferization/IR/BufferizableOpInterface.h"
#include "mlir/Interfaces/ViewLikeInterface.h"

namespace stagewright::bodies {

/// A buffer, or a box of one.
struct BufferPlace {
  /// The value that defines the buffer: a tensor without a destination, or a
  /// memref.
  mlir::Value root;
  /// The shape that the box is a part of: that of the buffer, or of a reshape
  /// of it.
  llvm::SmallVector<int64_t> shape;
  /// The box; empty for the whole buffer. If a slice of a slice cannot be
  /// written as a box, this is the box of the outer slice.
  llvm::SmallVector<mlir::OpFoldResult> offsets, sizes, strides;

  /// Whether both are certainly the same box of the same buffer.
  bool operator==(const BufferPlace &other) const;
  /// Whether both may contain the same element.
  bool mayOverlap(const BufferPlace &other) const;
  /// Whether every element is certainly in `outer`.
  bool isInside(const BufferPlace &outer) const;
};

/// The places of the tensors of one body. A value may have several, such as the
/// result of a conditional.
class BufferPlaces {
public:
  explicit BufferPlaces(const mlir::bufferization::AnalysisState &state)
      : state(state) {}

  /// The possible places of tensor or memref `value`.
  llvm::SmallVector<BufferPlace, 1> of(mlir::Value value);
  /// The part of `place`, a tensor of shape `shape`, that `slice` selects.
  static BufferPlace cut(BufferPlace place, llvm::ArrayRef<int64_t> shape,
                         mlir::OffsetSizeAndStrideOpInterface slice);

private:
  llvm::SmallVector<BufferPlace, 1> find(mlir::Value value);
  /// The places of all of `values`, each once.
  llvm::SmallVector<BufferPlace, 1> unite(mlir::ValueRange values);

  const mlir::bufferization::AnalysisState &state;
  llvm::DenseMap<mlir::Value, llvm::SmallVector<BufferPlace, 1>> known;
};

} // namespace stagewright::bodies

#endif // STAGEWRIGHT_LIB_CONVERSION_BODIESTOKERNELS_BUFFERPLACE_H
