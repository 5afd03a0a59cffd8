//===- Library.cpp - attention that the device's library takes ------------===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Library.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"

using namespace mlir;

namespace stagewright::device {

/// Widths of heads that the library takes (sw_attention_desc).
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

/// Whether rows of `value` begin at multiples of 16 bytes and lie side by side:
/// a whole tensor, or views of it that cut rows into such pieces.
static bool isAligned(Value value) {
  auto last = [](ArrayRef<int64_t> list) { return list.back(); };
  while (true) {
    auto type = cast<RankedTensorType>(value.getType());
    if (type.getRank() == 0 || last(type.getShape()) % kUnit != 0)
      return false;
    Operation *maker = value.getDefiningOp();
    if (auto slice = dyn_cast_or_null<tensor::ExtractSliceOp>(maker)) {
      if (ShapedType::isDynamic(last(slice.getStaticOffsets())) ||
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

bool isForLibrary(const pipeline::Attention &attention) {
  std::optional<LibraryHeads> heads = LibraryHeads::get(attention);
  Type element = attention.type("query").getElementType();
  if (!heads || attention.has("mask") || attention.cap || attention.kept ||
      (!element.isF16() && !element.isBF16()) ||
      attention.width() > kMostWidth || attention.valueWidth() > kMostWidth)
    return false;
  for (StringRef name : attention.names) {
    if (name == "statistics")
      continue;
    // Width last; heads that share keys side by side.
    AffineMap map = attention.map(name);
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
