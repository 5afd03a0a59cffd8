//===- SliceAxes.h - slices of a tensor over a grid -------------*- C++ -*-===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// How the axes of a grid of shards split a tensor: each axis splits the parts
// of the axes before it along one dimension, or two axes the same one. Without
// LLVM, since the runtime reads it too.
//
//===----------------------------------------------------------------------===//

#ifndef STAGEWRIGHT_SUPPORT_SLICEAXES_H
#define STAGEWRIGHT_SUPPORT_SLICEAXES_H

#include <algorithm>
#include <cstdint>
#include <vector>

namespace stagewright {

/// One axis: dimension `dim` holds `outer` chunks of equal size, and each of
/// `parts` has a part of each chunk, in whole units of `unit` indices. The
/// first parts have one unit more if not all can have as many.
struct SliceAxis {
  int64_t parts = 1, dim = 0, outer = 1, unit = 1;

  /// Where part `number` of a chunk of `size` indices begins.
  int64_t start(int64_t size, int64_t number) const {
    int64_t units = size / unit;
    return unit * (number * (units / parts) + std::min(number, units % parts));
  }
  /// Whether every part of a tensor of `shape` has a unit of each chunk.
  bool fits(const std::vector<int64_t> &shape) const {
    if (parts < 1 || outer < 1 || unit < 1 || dim < 0 ||
        dim >= int64_t(shape.size()))
      return false;
    int64_t size = shape[size_t(dim)], chunk = size / outer;
    return size % outer == 0 && chunk % unit == 0 && chunk / unit >= parts;
  }
};

/// The axes, outermost first: slice s is part s mod `parts` of the last axis of
/// part s div `parts` of the axes before.
struct SliceAxes : std::vector<SliceAxis> {
  /// From four numbers for each axis, in the order of SliceAxis.
  static SliceAxes of(const int64_t *numbers, size_t count) {
    SliceAxes axes;
    for (size_t i = 0; i + 3 < count; i += 4)
      axes.push_back(
          {numbers[i], numbers[i + 1], numbers[i + 2], numbers[i + 3]});
    return axes;
  }
  int64_t slices() const {
    int64_t count = 1;
    for (const SliceAxis &axis : *this)
      count *= axis.parts;
    return count;
  }
  /// The part along axis `number` that `slice` is.
  int64_t partOf(int64_t slice, size_t number) const {
    for (size_t i = size(); i-- > number + 1;)
      slice /= (*this)[i].parts;
    return slice % (*this)[number].parts;
  }
  /// The shape of `slice` of a tensor of `shape`; empty if an axis does not
  /// fit. Not for a tensor without dimensions.
  std::vector<int64_t> shapeOf(std::vector<int64_t> shape,
                               int64_t slice) const {
    for (size_t i = 0; i < size(); ++i) {
      const SliceAxis &axis = (*this)[i];
      if (!axis.fits(shape))
        return {};
      int64_t &size = shape[size_t(axis.dim)], part = partOf(slice, i);
      int64_t chunk = size / axis.outer;
      size =
          axis.outer * (axis.start(chunk, part + 1) - axis.start(chunk, part));
    }
    return shape;
  }
};

} // namespace stagewright

#endif // STAGEWRIGHT_SUPPORT_SLICEAXES_H
