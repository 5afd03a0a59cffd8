//===- Layout.cpp - how shards hold a value -------------------------------===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Layout.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "stagewright/Dialect/LLVM.h"

namespace stagewright::pipeline {

ChunkParts chunkPartsOf(RankedTensorType type, Layout layout, int64_t ways) {
  return {type.getDimSize(layout.dim) / layout.outer, layout.unit, ways};
}

bool fits(RankedTensorType type, Layout layout, int64_t ways) {
  return !layout.isSplit() ||
         (layout.dim < type.getRank() && layout.outer > 0 && layout.unit > 0 &&
          type.getDimSize(layout.dim) % layout.outer == 0 &&
          chunkPartsOf(type, layout, ways).fit());
}

bool fitsEvenly(RankedTensorType type, Layout layout, int64_t ways) {
  return fits(type, layout, ways) &&
         (!layout.isSplit() || chunkPartsOf(type, layout, ways).areEqual());
}

RankedTensorType localType(RankedTensorType type, Layout layout, int64_t ways,
                           int64_t shard) {
  if (!layout.isSplit())
    return type;
  SmallVector<int64_t> shape(type.getShape());
  shape[layout.dim] =
      layout.outer * chunkPartsOf(type, layout, ways).sizeOf(shard);
  return type.clone(shape);
}

std::optional<Layout> throughExpand(tensor::ExpandShapeOp op, Layout layout,
                                    int64_t ways) {
  auto type = cast<RankedTensorType>(op.getType());
  int64_t outer = layout.outer;
  bool isEven = chunkPartsOf(op.getSrcType(), layout, ways).areEqual();
  // Elements of the source's dimension per index of `dim`.
  int64_t inner = op.getSrcType().getDimSize(layout.dim);
  SmallVector<ReassociationIndices> groups = op.getReassociationIndices();
  for (int64_t dim : groups[layout.dim]) {
    inner /= type.getDimSize(dim);
    if (isEven ? fitsEvenly(type, Layout::split(dim, outer), ways)
               : layout.unit % inner == 0) {
      Layout found =
          Layout::split(dim, outer, isEven ? 1 : layout.unit / inner);
      return fits(type, found, ways) ? std::optional(found) : std::nullopt;
    }
    // This dimension only counts chunks; the split one is an inner one.
    if (outer % type.getDimSize(dim) != 0)
      return std::nullopt;
    outer /= type.getDimSize(dim);
  }
  return std::nullopt;
}

std::optional<Layout> throughCollapse(tensor::CollapseShapeOp op, Layout layout,
                                      int64_t ways) {
  auto type = cast<RankedTensorType>(op.getType());
  for (auto [number, group] : llvm::enumerate(op.getReassociationIndices())) {
    if (!llvm::is_contained(group, layout.dim))
      continue;
    int64_t outer = layout.outer, inner = 1;
    for (int64_t dim : group)
      if (dim != layout.dim)
        (dim < layout.dim ? outer : inner) *= op.getSrcType().getDimSize(dim);
    bool isEven = chunkPartsOf(op.getSrcType(), layout, ways).areEqual();
    Layout found =
        Layout::split(int64_t(number), outer, isEven ? 1 : layout.unit * inner);
    return fits(type, found, ways) ? std::optional(found) : std::nullopt;
  }
  return std::nullopt;
}

std::optional<Layout> throughRange(Layout layout, int64_t size, int64_t first,
                                   int64_t count) {
  int64_t chunk = size / layout.outer;
  if (first % chunk != 0 || count % chunk != 0 || count == 0)
    return std::nullopt;
  return Layout::split(layout.dim, count / chunk, layout.unit);
}

std::optional<Layout> aroundRange(Layout layout, int64_t size, int64_t first,
                                  int64_t count) {
  int64_t chunk = count / layout.outer;
  if (chunk == 0 || first % chunk != 0 || size % chunk != 0)
    return std::nullopt;
  return Layout::split(layout.dim, size / chunk, layout.unit);
}

namespace {
/// `type` with its split dimension expanded into two: chunks, and elements of a
/// chunk.
struct Chunks {
  Chunks(RankedTensorType type, Layout layout) {
    SmallVector<int64_t> shape;
    for (int64_t dim = 0; dim < type.getRank(); ++dim) {
      groups.push_back({int64_t(shape.size())});
      if (dim == layout.dim) {
        shape.push_back(layout.outer);
        groups.back().push_back(int64_t(shape.size()));
        shape.push_back(type.getDimSize(dim) / layout.outer);
      } else {
        shape.push_back(type.getDimSize(dim));
      }
    }
    expanded = type.clone(shape);
  }
  SmallVector<ReassociationIndices> groups;
  RankedTensorType expanded;
};

/// The offsets, sizes and strides of a part in the whole, in which it starts at
/// index `start` of dimension `dim`.
struct Place {
  Place(OpBuilder &builder, RankedTensorType part, int64_t dim, int64_t start)
      : offsets(part.getRank(), builder.getIndexAttr(0)),
        strides(part.getRank(), builder.getIndexAttr(1)) {
    for (int64_t size : part.getShape())
      sizes.push_back(builder.getIndexAttr(size));
    offsets[dim] = builder.getIndexAttr(start);
  }
  SmallVector<OpFoldResult> offsets, sizes, strides;
};
} // namespace

Value takeRange(OpBuilder &builder, Location loc, Value value, int64_t dim,
                int64_t start, int64_t size) {
  auto type = cast<RankedTensorType>(value.getType());
  SmallVector<int64_t> shape(type.getShape());
  shape[dim] = size;
  RankedTensorType part = type.clone(shape);
  Place place(builder, part, dim, start);
  return tensor::ExtractSliceOp::create(
      builder, loc, part, value, place.offsets, place.sizes, place.strides);
}

Value joinRanges(OpBuilder &builder, Location loc, RankedTensorType type,
                 ValueRange ranges, int64_t dim) {
  Value joined = tensor::EmptyOp::create(builder, loc, type.getShape(),
                                         type.getElementType());
  int64_t start = 0;
  for (Value range : ranges) {
    Place place(builder, cast<RankedTensorType>(range.getType()), dim, start);
    joined = tensor::InsertSliceOp::create(
        builder, loc, range, joined, place.offsets, place.sizes, place.strides);
    start += cast<RankedTensorType>(range.getType()).getDimSize(dim);
  }
  return joined;
}

Value takePart(OpBuilder &builder, Location loc, Value whole, Layout layout,
               int64_t ways, int64_t shard) {
  auto type = cast<RankedTensorType>(whole.getType());
  RankedTensorType part = localType(type, layout, ways, shard);
  int64_t start = chunkPartsOf(type, layout, ways).start(shard);
  if (layout.outer == 1) {
    Place place(builder, part, layout.dim, start);
    return tensor::ExtractSliceOp::create(
        builder, loc, part, whole, place.offsets, place.sizes, place.strides);
  }
  Chunks all(type, layout), own(part, layout);
  Value chunks = tensor::ExpandShapeOp::create(builder, loc, all.expanded,
                                               whole, all.groups);
  Place place(builder, own.expanded, layout.dim + 1, start);
  Value taken =
      tensor::ExtractSliceOp::create(builder, loc, own.expanded, chunks,
                                     place.offsets, place.sizes, place.strides);
  return tensor::CollapseShapeOp::create(builder, loc, part, taken, own.groups);
}

/// A part in the form in which chunks have a dimension of their own, if
/// `layout` has several.
static Value expanded(OpBuilder &builder, Location loc, Value part,
                      Layout layout) {
  if (layout.outer == 1)
    return part;
  Chunks own(cast<RankedTensorType>(part.getType()), layout);
  return tensor::ExpandShapeOp::create(builder, loc, own.expanded, part,
                                       own.groups);
}

/// The value of `type` from its form as in expanded().
static Value collapsed(OpBuilder &builder, Location loc, RankedTensorType type,
                       Value whole, const Chunks &chunks) {
  if (whole.getType() == type)
    return whole;
  return tensor::CollapseShapeOp::create(builder, loc, type, whole,
                                         chunks.groups);
}

Value padPart(OpBuilder &builder, Location loc, RankedTensorType type,
              Value part, Layout layout, int64_t ways, int64_t shard) {
  Chunks all(type, layout);
  ChunkParts places = chunkPartsOf(type, layout, ways);
  bool chunked = layout.outer != 1;
  RankedTensorType shape = chunked ? all.expanded : type;
  part = expanded(builder, loc, part, layout);
  SmallVector<OpFoldResult> low(size_t(shape.getRank()),
                                builder.getIndexAttr(0)),
      high(low);
  low[size_t(layout.dim + chunked)] = builder.getIndexAttr(places.start(shard));
  high[size_t(layout.dim + chunked)] =
      builder.getIndexAttr(places.size - places.start(shard + 1));
  Value zero = arith::ConstantOp::create(
      builder, loc, builder.getZeroAttr(type.getElementType()));
  Value padded =
      tensor::PadOp::create(builder, loc, shape, part, low, high, zero);
  return collapsed(builder, loc, type, padded, all);
}

Value joinParts(OpBuilder &builder, Location loc, RankedTensorType type,
                ValueRange parts, Layout layout) {
  Chunks all(type, layout);
  ChunkParts places = chunkPartsOf(type, layout, int64_t(parts.size()));
  bool chunked = layout.outer != 1;
  RankedTensorType shape = chunked ? all.expanded : type;
  Value joined = tensor::EmptyOp::create(builder, loc, shape.getShape(),
                                         shape.getElementType());
  if (llvm::is_contained(parts, Value())) {
    Value zero = arith::ConstantOp::create(
        builder, loc, builder.getZeroAttr(type.getElementType()));
    joined = linalg::FillOp::create(builder, loc, zero, joined).getResult(0);
  }
  for (auto [shard, value] : llvm::enumerate(parts)) {
    if (!value)
      continue;
    Value part = expanded(builder, loc, value, layout);
    Place place(builder, cast<RankedTensorType>(part.getType()),
                layout.dim + chunked, places.start(int64_t(shard)));
    joined = tensor::InsertSliceOp::create(
        builder, loc, part, joined, place.offsets, place.sizes, place.strides);
  }
  return collapsed(builder, loc, type, joined, all);
}

} // namespace stagewright::pipeline
