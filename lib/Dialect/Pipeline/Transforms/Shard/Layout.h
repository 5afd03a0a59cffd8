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
//===----------------------------------------------------------------------===//

#ifndef STAGEWRIGHT_LIB_DIALECT_PIPELINE_TRANSFORMS_SHARD_LAYOUT_H
#define STAGEWRIGHT_LIB_DIALECT_PIPELINE_TRANSFORMS_SHARD_LAYOUT_H

#include "mlir/Dialect/Tensor/IR/Tensor.h"

namespace stagewright::pipeline {

struct Layout {
  enum Kind : uint8_t {
    Whole,   ///< Every shard has all of it.
    Split,   ///< Each has its part of dimension `dim`.
    Partial, ///< It is the sum of the shards' values.
    Largest  ///< It is the max of the shards' values.
  };
  Kind kind = Whole;
  int64_t dim = 0, outer = 1;

  static Layout split(int64_t dim, int64_t outer = 1) {
    return {Split, dim, outer};
  }
  bool isSplit() const { return kind == Split; }
  friend bool operator==(const Layout &, const Layout &) = default;
};

/// Whether `layout` splits `type` into equal parts for `ways` shards.
bool fits(mlir::RankedTensorType type, Layout layout, int64_t ways);

/// The type of the part of `type` that a shard holds.
mlir::RankedTensorType localType(mlir::RankedTensorType type, Layout layout,
                                 int64_t ways);

/// The layout of the result of a reshape or slice, given that of its operand;
/// nothing if the shards would hold something else than parts of the result.
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
/// The whole value, of `type`, from the parts of the shards.
mlir::Value joinParts(mlir::OpBuilder &builder, mlir::Location loc,
                      mlir::RankedTensorType type, mlir::ValueRange parts,
                      Layout layout);

} // namespace stagewright::pipeline

#endif // STAGEWRIGHT_LIB_DIALECT_PIPELINE_TRANSFORMS_SHARD_LAYOUT_H
