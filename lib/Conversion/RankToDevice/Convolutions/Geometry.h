//===- Geometry.h - which convolution a sum of products is ------*- C++ -*-===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A framework writes all three as one: places of the image operand are
// cu * u + cv * v, with u a place of what is computed and v one of the other
// operand, over images that are padded or widened with zeros. In one dimension,
// with source element i of the image at low + step * i:
//
//   result   y[u]  = sum over v of x[cu*u + cv*v - low] * w[v]
//   filter   dw[u] = sum over v of x[cu*u + cv*v - low] * dy[v]
//            where dy may be widened: v = low' + step' * i for its element i
//   image    dx[u] = sum over v of wide(dy)[u + cv*v] * w[T-1-v]
//            which meets dy[i] where u = step*i + cv*t - (cv*(T-1) - low)
//
// The first two differ in names only: what has fewer places is the filter.
//
//===----------------------------------------------------------------------===//

#ifndef STAGEWRIGHT_LIB_CONVERSION_RANKTODEVICE_CONVOLUTIONS_GEOMETRY_H
#define STAGEWRIGHT_LIB_CONVERSION_RANKTODEVICE_CONVOLUTIONS_GEOMETRY_H

#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "stagewright/Dialect/Rank/IR/Rank.h"

namespace stagewright::device {

using Numbers = llvm::SmallVector<int64_t>;

/// What a `rank.convolve` needs to know.
struct Geometry {
  rank::Convolution writes = rank::Convolution::Result;
  /// Image, filter and result; null where it is written.
  std::array<mlir::Value, 3> operands;
  std::array<Numbers, 3> dims;
  Numbers stride, dilation, before, after; ///< by place

  /// Nothing where `op` is no convolution of one, two or three places, or one
  /// that `rank.convolve` cannot say.
  static std::optional<Geometry> get(mlir::linalg::GenericOp op);
};

} // namespace stagewright::device

#endif // STAGEWRIGHT_LIB_CONVERSION_RANKTODEVICE_CONVOLUTIONS_GEOMETRY_H
