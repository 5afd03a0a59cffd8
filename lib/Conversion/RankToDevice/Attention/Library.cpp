//===- Library.cpp - attention that the library supports ------------------===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Library.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"

namespace stagewright::device {

/// Max width of a head for which the library supports gradients
/// (sw_attention_desc).
constexpr int64_t kMostWidth = 128;

std::optional<LibraryHeads>
LibraryHeads::get(const pipeline::Attention &attention) {
  LibraryHeads heads;
  AffineMap keys = attention.map("key");
  SmallVector<int> shared, own;
  for (unsigned dim = 0; dim < attention.batches(); ++dim)
    (keys.isFunctionOfDim(dim) ? shared : own).push_back(int(dim));
  if (shared.size() > 2 || own.size() > 1 ||
      (own.size() == 1 && !shared.empty() && own[0] < shared.back()))
    return std::nullopt;
  if (!shared.empty())
    heads.batch = shared[0];
  if (shared.size() == 2)
    heads.head = shared[1];
  if (!own.empty())
    heads.group = own[0];
  return heads;
}

/// Whether rows of `value` are contiguous and begin at multiples of 16 bytes,
/// in `value` itself and in the tensors of which it is a view.
static bool isAligned(Value value) {
  auto last = [](ArrayRef<int64_t> list) { return list.back(); };
  while (true) {
    auto type = cast<RankedTensorType>(value.getType());
    if (type.getRank() == 0 || last(type.getShape()) % kUnit != 0)
      return false;
    Operation *maker = value.getDefiningOp();
    if (auto slice = dyn_cast_or_null<tensor::ExtractSliceOp>(maker)) {
      // Without the innermost dimension, elements are not contiguous.
      if (slice.getDroppedDims().test(
              unsigned(slice.getSourceType().getRank() - 1)) ||
          last(slice.getStaticOffsets()) % kUnit != 0 ||
          llvm::any_of(slice.getStaticOffsets(), ShapedType::isDynamic) ||
          !llvm::all_of(slice.getStaticStrides(),
                        [](int64_t stride) { return stride == 1; }))
        return false;
      value = slice.getSource();
    } else if (isa_and_nonnull<tensor::ExpandShapeOp, tensor::CollapseShapeOp>(
                   maker)) {
      value = maker->getOperand(0);
    } else {
      return true;
    }
  }
}

/// Whether the heads of `value` are evenly spaced in memory, so that one stride
/// leads from each to the next. Dimension `head` of `value` enumerates the
/// heads of keys, and the next dimension the heads that share one of these. The
/// heads are not evenly spaced in a view that leaves out some of those that
/// share.
static bool areEvenlyApart(Value value, int64_t head) {
  // The dimensions [first, last] of `value` that have the shared heads.
  int64_t first = head + 1, last = head + 1;
  while (Operation *maker = value.getDefiningOp()) {
    if (auto slice = dyn_cast<tensor::ExtractSliceOp>(maker)) {
      SmallVector<int64_t> kept;
      llvm::SmallBitVector dropped = slice.getDroppedDims();
      for (int64_t dim = 0; dim < slice.getSourceType().getRank(); ++dim)
        if (!dropped.test(unsigned(dim)))
          kept.push_back(dim);
      head = kept[size_t(head)];
      first = head + 1; // Dropped dimensions may lie between head and last.
      last = kept[size_t(last)];
      for (int64_t dim = first; dim <= last; ++dim)
        if (slice.getStaticSizes()[size_t(dim)] !=
            slice.getSourceType().getDimSize(dim))
          return false;
      value = slice.getSource();
    } else if (auto collapse = dyn_cast<tensor::CollapseShapeOp>(maker)) {
      auto parts = collapse.getReassociationIndices();
      head = parts[size_t(head)].back();
      first = head + 1;
      last = parts[size_t(last)].back();
      value = collapse.getSrc();
    } else if (auto expand = dyn_cast<tensor::ExpandShapeOp>(maker)) {
      SmallVector<int64_t> from;
      for (auto [dim, parts] :
           llvm::enumerate(expand.getReassociationIndices()))
        from.append(parts.size(), int64_t(dim));
      if (from[size_t(head)] == from[size_t(last)])
        return true; // Parts of one dimension are evenly apart.
      head = from[size_t(head)];
      first = from[size_t(first)];
      last = from[size_t(last)];
      if (head == first)
        return false;
      value = expand.getSrc();
    } else {
      return true;
    }
  }
  return true;
}

/// The bias of a masked key, for masks that replace its score with this or a
/// lower number. Such a key has weight 0 beside keys that are not masked. If
/// all keys of a row are masked, float32 rounds the sums of bias and score to
/// the bias for scores of magnitude below about 32, so the weights are equal,
/// as in the model. With a higher bias the sums would differ; masks with a
/// higher number use our kernels.
constexpr float kHidden = -1e9f;

/// Whether the library accepts the mask as a bias.
static bool isBias(const pipeline::Attention &attention) {
  if (!attention.has("mask"))
    return true;
  Type element = attention.type("mask").getElementType();
  bool known = element.isInteger(1)
                   ? attention.fill && *attention.fill <= kHidden
                   : element.isF32() ||
                         element == attention.type("query").getElementType();
  return known && attention.map("mask").isFunctionOfDim(attention.keyDim()) &&
         attention.keys() % kUnit == 0;
}

Value makeBias(OpBuilder &builder, const pipeline::Attention &attention,
               AffineMap &map) {
  LibraryHeads heads = *LibraryHeads::get(attention);
  AffineMap from = attention.map("mask");
  Value mask = attention.operand("mask");
  Type element = attention.type("mask").getElementType();
  // The dimensions of the bias: batch, if the mask has it, heads, queries and
  // keys. The library enumerates the heads of queries, so if the mask differs
  // between heads, the bias has both dimensions of heads.
  SmallVector<unsigned> dims;
  auto has = [&](int dim) {
    return dim >= 0 && from.isFunctionOfDim(unsigned(dim));
  };
  bool differ = has(heads.head) || has(heads.group);
  for (int dim : {heads.batch, heads.head, heads.group})
    if (dim >= 0 && (dim == heads.batch ? has(dim) : differ))
      dims.push_back(unsigned(dim));
  llvm::append_values(dims, attention.queryDim(), attention.keyDim());
  MLIRContext *context = builder.getContext();
  map = AffineMap::getMultiDimMapWithTargets(from.getNumDims(), dims, context);
  if (!element.isInteger(1) && map == from)
    return mask;
  // Rename the dimensions of the mask to those of the bias.
  SmallVector<AffineExpr> renamed(from.getNumDims(),
                                  getAffineConstantExpr(0, context));
  SmallVector<int64_t> shape;
  for (auto [place, dim] : llvm::enumerate(dims)) {
    renamed[dim] = getAffineDimExpr(unsigned(place), context);
    shape.push_back(attention.extents[dim]);
  }
  auto rank = unsigned(dims.size());
  Type number = element.isInteger(1) ? builder.getF32Type() : element;
  Location loc = attention.op->getLoc();
  Value empty = tensor::EmptyOp::create(builder, loc, shape, number);
  SmallVector<AffineMap> maps = {
      from.replaceDimsAndSymbols(renamed, {}, rank, 0),
      builder.getMultiDimIdentityMap(rank)};
  SmallVector<utils::IteratorType> loops(rank, utils::IteratorType::parallel);
  return linalg::GenericOp::create(
             builder, loc, empty.getType(), mask, empty, maps, loops,
             [&](OpBuilder &inner, Location at, ValueRange values) {
               Value bias = values[0];
               if (element.isInteger(1)) {
                 auto constant = [&](float value) -> Value {
                   return arith::ConstantOp::create(
                       inner, at, inner.getF32FloatAttr(value));
                 };
                 bias = arith::SelectOp::create(inner, at, bias, constant(0),
                                                constant(kHidden));
               }
               linalg::YieldOp::create(inner, at, bias);
             })
      .getResult(0);
}

bool isForLibrary(const pipeline::Attention &attention) {
  std::optional<LibraryHeads> heads = LibraryHeads::get(attention);
  Type element = attention.type("query").getElementType();
  if (!heads || !isBias(attention) || attention.cap || attention.kept ||
      (!element.isF16() && !element.isBF16()) ||
      attention.width() > kMostWidth || attention.valueWidth() > kMostWidth)
    return false;
  for (StringRef name : attention.names) {
    AffineMap map = attention.map(name);
    bool isCopied =
        name == "mask" && attention.type(name).getElementType().isInteger(1);
    for (unsigned i = 0; i + 1 < map.getNumResults() && !isCopied; ++i)
      if (heads->head >= 0 && heads->group >= 0 &&
          int(map.getDimPosition(i)) == heads->head &&
          int(map.getDimPosition(i + 1)) == heads->group &&
          !areEvenlyApart(attention.operand(name), i))
        return false;
    if (name == "statistics" || name == "mask")
      continue;
    // The width is the last dimension; heads that share keys are adjacent.
    unsigned width = map.getDimPosition(map.getNumResults() - 1);
    if (attention.type(name).getElementType() != element ||
        (width != attention.widthDim() && width != attention.valueDim()) ||
        !isAligned(attention.operand(name)))
      return false;
    for (unsigned i = 0; i < map.getNumResults(); ++i)
      if (heads->group >= 0 && heads->head >= 0 &&
          int(map.getDimPosition(i)) == heads->group &&
          (i == 0 || int(map.getDimPosition(i - 1)) != heads->head))
        return false;
  }
  return true;
}

} // namespace stagewright::device
