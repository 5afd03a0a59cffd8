//===- SliceAxes.h - slices of a tensor over a grid -------------*- C++ -*-===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Where the parts of a dimension begin, and how the axes of a grid of shards
// split a tensor: each axis splits the parts of the axes before it along one
// dimension; two axes may split the same dimension. Without LLVM, since the
// runtime reads it too.
//
//===----------------------------------------------------------------------===//

#ifndef STAGEWRIGHT_SUPPORT_SLICEAXES_H
#define STAGEWRIGHT_SUPPORT_SLICEAXES_H

#include <algorithm>
#include <cstdint>
#include <set>
#include <utility>
#include <vector>

namespace stagewright {

/// Where part `number` of `parts` begins in `size` indices, or bytes, in whole
/// units of `unit`; for part `parts`, `size`. The first parts have one unit
/// more if not all can have as many.
inline int64_t partStart(int64_t size, int64_t unit, int64_t parts,
                         int64_t number) {
  int64_t units = size / unit;
  return unit * (number * (units / parts) + std::min(number, units % parts));
}

/// One axis: dimension `dim` holds `outer` chunks of equal size, and each of
/// `parts` has a part of each chunk, in whole units of `unit` indices, as
/// partStart() says.
struct SliceAxis {
  int64_t parts = 1, dim = 0, outer = 1, unit = 1;

  /// Where part `number` of a chunk of `size` indices begins.
  int64_t start(int64_t size, int64_t number) const {
    return partStart(size, unit, parts, number);
  }
  /// The shape of part `number` of a tensor of `shape`, which it must fit.
  std::vector<int64_t> shapeOf(std::vector<int64_t> shape,
                               int64_t number) const {
    int64_t &size = shape[size_t(dim)], chunk = size / outer;
    size = outer * (start(chunk, number + 1) - start(chunk, number));
    return shape;
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
  /// The number of the part along axis `number` to which `slice` belongs.
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
      if (!(*this)[i].fits(shape))
        return {};
      shape = (*this)[i].shapeOf(std::move(shape), partOf(slice, i));
    }
    return shape;
  }
  /// Whether a tensor of `shape`, whose first dimension has `rows` rows of
  /// equal size, has `count` slices: for each row those of the axes, none of
  /// them empty. Its time does not grow with `count`, since the parts along an
  /// axis have the shapes of the first and of the last.
  bool give(std::vector<int64_t> shape, int64_t rows, int64_t count) const {
    if (shape.empty() || rows < 1 || shape.front() % rows != 0)
      return false;
    shape.front() /= rows;
    std::set<std::vector<int64_t>> shapes = {shape};
    for (const SliceAxis &axis : *this) {
      if (axis.parts < 1 || axis.parts > count / rows)
        return false;
      rows *= axis.parts;
      std::set<std::vector<int64_t>> parts;
      for (const std::vector<int64_t> &own : shapes) {
        if (!axis.fits(own))
          return false;
        parts.insert(axis.shapeOf(own, 0));
        parts.insert(axis.shapeOf(own, axis.parts - 1));
      }
      shapes = std::move(parts);
    }
    return rows == count;
  }
};

} // namespace stagewright

#endif // STAGEWRIGHT_SUPPORT_SLICEAXES_H
