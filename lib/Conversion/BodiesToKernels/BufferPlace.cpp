//===- BufferPlace.cpp - buffer locations of tensors ----------------------===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "BufferPlace.h"
#include "mlir/Dialect/Utils/StaticValueUtils.h"
#include "stagewright/Conversion/BodiesToKernels/Passes.h"

namespace stagewright::bodies {

bool BufferPlace::operator==(const BufferPlace &other) const {
  return root == other.root && shape == other.shape &&
         isEqualConstantIntOrValueArray(offsets, other.offsets) &&
         isEqualConstantIntOrValueArray(sizes, other.sizes) &&
         isEqualConstantIntOrValueArray(strides, other.strides);
}

namespace {
/// First and last index of a box along one dimension, and its step; the step of
/// a single index is 0.
struct Extent {
  int64_t first, last, step;
};

std::optional<Extent> extentOf(const BufferPlace &place, unsigned dim) {
  auto offset = getConstantIntValue(place.offsets[dim]);
  auto size = getConstantIntValue(place.sizes[dim]);
  auto stride = getConstantIntValue(place.strides[dim]);
  if (!offset || !size || !stride || *size < 1)
    return std::nullopt;
  return Extent{*offset, *offset + (*size - 1) * *stride,
                *size == 1 ? 0 : *stride};
}
} // namespace

bool BufferPlace::mayOverlap(const BufferPlace &other) const {
  if (root != other.root)
    return false;
  if (offsets.empty() || other.offsets.empty() || shape != other.shape)
    return true;
  for (unsigned dim = 0; dim < shape.size(); ++dim) {
    auto a = extentOf(*this, dim), b = extentOf(other, dim);
    if (a && b && (a->last < b->first || b->last < a->first))
      return false;
    // Interleaved: equal strides, and starts that differ by no multiple of
    // them.
    auto stride = getConstantIntValue(strides[dim]);
    if (a && b && stride && *stride > 1 &&
        isEqualConstantIntOrValue(strides[dim], other.strides[dim]) &&
        (a->first - b->first) % *stride != 0)
      return false;
  }
  return true;
}

bool BufferPlace::isInside(const BufferPlace &outer) const {
  if (root != outer.root)
    return false;
  if (outer.offsets.empty() || *this == outer)
    return true;
  if (offsets.empty() || shape != outer.shape)
    return false;
  for (unsigned dim = 0; dim < shape.size(); ++dim) {
    if (isEqualConstantIntOrValue(offsets[dim], outer.offsets[dim]) &&
        isEqualConstantIntOrValue(sizes[dim], outer.sizes[dim]) &&
        isEqualConstantIntOrValue(strides[dim], outer.strides[dim]))
      continue;
    auto a = extentOf(*this, dim), b = extentOf(outer, dim);
    if (!a || !b || a->first < b->first || a->last > b->last)
      return false;
    int64_t step = std::max<int64_t>(b->step, 1);
    if ((a->first - b->first) % step != 0 || a->step % step != 0)
      return false;
  }
  return true;
}

SmallVector<BufferPlace, 1> BufferPlaces::of(Value value) {
  if (auto found = known.find(value); found != known.end())
    return found->second;
  SmallVector<BufferPlace, 1> places = find(value);
  known[value] = places;
  return places;
}

SmallVector<BufferPlace, 1> BufferPlaces::unite(ValueRange values) {
  SmallVector<BufferPlace, 1> places;
  for (Value value : values)
    for (const BufferPlace &place : of(value))
      if (!llvm::is_contained(places, place))
        places.push_back(place);
  return places;
}

BufferPlace BufferPlaces::cut(BufferPlace place, ArrayRef<int64_t> shape,
                              OffsetSizeAndStrideOpInterface slice) {
  if (place.offsets.empty()) {
    place.shape.assign(shape.begin(), shape.end());
    place.offsets = slice.getMixedOffsets();
    place.sizes = slice.getMixedSizes();
    place.strides = slice.getMixedStrides();
    return place;
  }
  auto isKnown = [](ArrayRef<OpFoldResult> list) {
    return llvm::all_of(list, [](OpFoldResult entry) {
      return getConstantIntValue(entry).has_value();
    });
  };
  SmallVector<OpFoldResult> offsets = slice.getMixedOffsets(),
                            strides = slice.getMixedStrides();
  auto isWhole = [&](auto pair) {
    auto [size, extent] = pair;
    return getConstantIntValue(size) == extent;
  };
  if (shape.size() != place.sizes.size() ||
      !llvm::all_of(llvm::zip_equal(place.sizes, shape), isWhole) ||
      !isKnown(offsets) || !isKnown(strides) || !isKnown(place.offsets) ||
      !isKnown(place.strides))
    return place;
  Builder builder(slice->getContext());
  for (auto [dim, offset] : llvm::enumerate(offsets)) {
    int64_t outer = *getConstantIntValue(place.strides[dim]);
    place.offsets[dim] =
        builder.getIndexAttr(*getConstantIntValue(place.offsets[dim]) +
                             *getConstantIntValue(offset) * outer);
    place.strides[dim] =
        builder.getIndexAttr(*getConstantIntValue(strides[dim]) * outer);
  }
  place.sizes = slice.getMixedSizes();
  return place;
}

SmallVector<BufferPlace, 1> BufferPlaces::find(Value value) {
  if (auto argument = dyn_cast<BlockArgument>(value)) {
    Operation *parent = argument.getOwner()->getParentOp();
    if (auto loop = dyn_cast<scf::ForOp>(parent))
      if (OpOperand *init = loop.getTiedLoopInit(argument))
        return of(init->get());
    if (auto loop = dyn_cast<scf::WhileOp>(parent)) {
      unsigned number = argument.getArgNumber();
      return argument.getOwner() == loop.getBeforeBody()
                 ? of(loop.getInits()[number])
                 : of(loop.getConditionOp().getArgs()[number]);
    }
    return {BufferPlace{value, {}, {}, {}, {}}};
  }
  auto result = cast<OpResult>(value);
  Operation *op = result.getOwner();
  unsigned number = result.getResultNumber();
  if (auto loop = dyn_cast<scf::ForOp>(op))
    return of(loop.getInitArgs()[number]);
  if (auto loop = dyn_cast<scf::WhileOp>(op))
    return of(loop.getConditionOp().getArgs()[number]);
  if (auto branch = dyn_cast<scf::IfOp>(op))
    return unite({branch.thenYield().getOperand(number),
                  branch.elseYield().getOperand(number)});
  if (auto entry = dyn_cast<bufferization::ToTensorOp>(op))
    return of(entry.getBuffer());
  if (auto view = dyn_cast<ViewLikeOpInterface>(op);
      view && isa<MemRefType>(value.getType()))
    return of(view.getViewSource());
  if (auto slice = dyn_cast<tensor::ExtractSliceOp>(op)) {
    SmallVector<BufferPlace, 1> places;
    for (const BufferPlace &place : of(slice.getSource()))
      places.push_back(cut(place, slice.getSourceType().getShape(), slice));
    return places;
  }
  SmallVector<Value> sources;
  if (state.getOptions().dynCastBufferizableOp(op) &&
      isa<TensorType>(value.getType()))
    for (bufferization::AliasingOpOperand alias :
         state.getAliasingOpOperands(value))
      sources.push_back(alias.opOperand->get());
  if (sources.empty())
    return {BufferPlace{value, {}, {}, {}, {}}};
  return unite(sources);
}

} // namespace stagewright::bodies
