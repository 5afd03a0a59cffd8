//===- ConvolveOp.cpp - convolutions for GPU libraries --------------------===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "stagewright/Dialect/Rank/IR/Rank.h"

namespace stagewright::rank {

std::array<Value, 3> ConvolveOp::getRoles() {
  Value first = getFirst(), second = getSecond(), written = getWritten();
  switch (getWrites()) {
  case Convolution::Result:
    return {first, second, written};
  case Convolution::Image:
    return {written, first, second};
  case Convolution::Filter:
    return {first, written, second};
  }
  return {};
}

ArrayRef<int64_t> ConvolveOp::getDims(unsigned role) {
  return role == 0   ? getImageDims()
         : role == 1 ? getFilterDims()
                     : getResultDims();
}

int64_t ConvolveOp::getExtent(unsigned role, unsigned dim) {
  return cast<ShapedType>(getRoles()[role].getType())
      .getDimSize(unsigned(getDims(role)[dim]));
}

LogicalResult ConvolveOp::verify() {
  constexpr const char *names[] = {"image", "filter", "result"};
  std::array<Value, 3> roles = getRoles();
  size_t places = getNumPlaces();
  for (unsigned role = 0; role < 3; ++role) { // convolve_c1
    auto type = cast<ShapedType>(roles[role].getType());
    SmallVector<int64_t> dims(getDims(role));
    llvm::sort(dims);
    bool fits = type.hasStaticShape() && places >= 1 && places <= 3 &&
                dims.size() == places + 2 &&
                type.getRank() == int64_t(places) + 2;
    for (size_t i = 0; fits && i < dims.size(); ++i)
      fits = dims[i] == int64_t(i);
    if (!fits)
      return emitOpError() << names[role] << " of type " << type
                           << " does not have the dimensions " << getDims(role)
                           << " for " << places << " spatial dimensions";
  }
  auto atLeast = [&](ArrayRef<int64_t> list, int64_t least) {
    return list.size() == places &&
           llvm::all_of(list, [&](int64_t it) { return it >= least; });
  };
  if (!atLeast(getStride(), 1) || !atLeast(getDilation(), 1) ||
      !atLeast(getBefore(), 0) || !atLeast(getAfter(), 0)) // convolve_c2
    return emitOpError("has strides or dilations below 1, or negative padding");
  if (getExtent(0, 0) != getExtent(2, 0) ||
      getExtent(0, 1) != getExtent(1, 1) ||
      getExtent(1, 0) != getExtent(2, 1)) // convolve_c3
    return emitOpError("images, channels or filters of its operands differ");
  for (unsigned i = 0; i < places; ++i) {
    int64_t room = getExtent(0, 2 + i) + getBefore()[i] + getAfter()[i] -
                   (getExtent(1, 2 + i) - 1) * getDilation()[i] - 1;
    if (room < 0 || room / getStride()[i] + 1 != getExtent(2, 2 + i))
      return emitOpError() << "image of " << getExtent(0, 2 + i)
                           << " with a window of " << getExtent(1, 2 + i)
                           << " has no result of " << getExtent(2, 2 + i);
  }
  return success();
}

} // namespace stagewright::rank
