//===- Layout.h - how shards hold a value -----------------------*- C++ -*-===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The layouts of OneFlow: split, broadcast and partial (Yuan et al., 2021), on
// one axis of shards. A split has a dimension and a number of chunks, `outer`,
// each of which is split: with `outer` 3, shard s holds the s-th part of each
// third, as for the fused projection to queries, keys and values.
//
// A chunk consists of units of `unit` indices, such as heads. If the number of
// shards does not divide the number of units, the first shards have one more
// each. Where it does, `unit` is 1, so that equal layouts compare equal.
//
//===----------------------------------------------------------------------===//

#ifndef STAGEWRIGHT_LIB_DIALECT_PIPELINE_TRANSFORMS_SHARD_LAYOUT_H
#define STAGEWRIGHT_LIB_DIALECT_PIPELINE_TRANSFORMS_SHARD_LAYOUT_H

#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "stagewright/Support/SliceAxes.h"

namespace stagewright::pipeline {

struct Layout {
  enum Kind : uint8_t {
    Whole,   ///< Every shard has all of it.
    Split,   ///< Each has its part of dimension `dim`.
    Partial, ///< It is the sum of the shards' values.
    Largest  ///< It is the max of the shards' values.
  };
  Kind kind = Whole;
  int64_t dim = 0, outer = 1, unit = 1;

  static Layout split(int64_t dim, int64_t outer = 1, int64_t unit = 1) {
    return {Split, dim, outer, unit};
  }
  bool isSplit() const { return kind == Split; }
  friend bool operator==(const Layout &, const Layout &) = default;
};

/// The parts of a chunk of `size` indices that `ways` shards hold, in units of
/// `unit` indices.
struct ChunkParts {
  int64_t size, unit, ways;

  /// The first index of a shard's part; for shard `ways`, `size`.
  int64_t start(int64_t shard) const {
    return partStart(size, unit, ways, shard);
  }
  int64_t sizeOf(int64_t shard) const {
    return start(shard + 1) - start(shard);
  }
  /// Whether every shard has at least one unit.
  bool fit() const { return size % unit == 0 && size / unit >= ways; }
  bool areEqual() const { return size > 0 && size / unit % ways == 0; }
};
/// The parts of each chunk of dimension `layout.dim` of `type`.
ChunkParts chunkPartsOf(mlir::RankedTensorType type, Layout layout,
                        int64_t ways);

/// Whether `layout` gives each of `ways` shards a part of `type`, of at least
/// one unit of every chunk.
bool fits(mlir::RankedTensorType type, Layout layout, int64_t ways);
/// Whether it does, and all these parts are equal.
bool fitsEvenly(mlir::RankedTensorType type, Layout layout, int64_t ways);

/// The type of the part of `type` that `shard` holds.
mlir::RankedTensorType localType(mlir::RankedTensorType type, Layout layout,
                                 int64_t ways, int64_t shard);

/// The layout of the result of a reshape or slice, given that of its operand;
/// nothing if what the shards hold would not be parts of the result.
///@{
std::optional<Layout> throughExpand(mlir::tensor::ExpandShapeOp op,
                                    Layout layout, int64_t ways);
std::optional<Layout> throughCollapse(mlir::tensor::CollapseShapeOp op,
                                      Layout layout, int64_t ways);
/// For a slice of `count` elements from `first` on of dimension `layout.dim`,
/// which has `size`. It must consist of whole chunks.
std::optional<Layout> throughRange(Layout layout, int64_t size, int64_t first,
                                   int64_t count);
/// The reverse: the layout of a dimension of `size` in which such a slice has
/// `layout`.
std::optional<Layout> aroundRange(Layout layout, int64_t size, int64_t first,
                                  int64_t count);
///@}

/// The part of `whole` that `shard` holds.
mlir::Value takePart(mlir::OpBuilder &builder, mlir::Location loc,
                     mlir::Value whole, Layout layout, int64_t ways,
                     int64_t shard);
/// A value of `type` that has `part`, which `shard` holds, and else zeros. The
/// sum of those of all shards is the whole value.
mlir::Value padPart(mlir::OpBuilder &builder, mlir::Location loc,
                    mlir::RankedTensorType type, mlir::Value part,
                    Layout layout, int64_t ways, int64_t shard);
/// `size` elements of dimension `dim` of `value` from `start` on.
mlir::Value takeRange(mlir::OpBuilder &builder, mlir::Location loc,
                      mlir::Value value, int64_t dim, int64_t start,
                      int64_t size);
/// The value of `type` that consists of `ranges` of dimension `dim`, in their
/// order.
mlir::Value joinRanges(mlir::OpBuilder &builder, mlir::Location loc,
                       mlir::RankedTensorType type, mlir::ValueRange ranges,
                       int64_t dim);
/// The whole value, of `type`, from the parts of the shards; zero where these
/// are null.
mlir::Value joinParts(mlir::OpBuilder &builder, mlir::Location loc,
                      mlir::RankedTensorType type, mlir::ValueRange parts,
                      Layout layout);

} // namespace stagewright::pipeline

#endif // STAGEWRIGHT_LIB_DIALECT_PIPELINE_TRANSFORMS_SHARD_LAYOUT_H
