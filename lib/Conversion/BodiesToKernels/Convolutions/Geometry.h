//===- Geometry.h - which convolution an operation is -----------*- C++ -*-===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Frameworks write a convolution and its two gradients in one form: the image
// operand is indexed by cu * u + cv * v, where u is an index of the output and
// v one of the other operand, and the image is padded or dilated with zeros. In
// one dimension, with source element i of the image at low + step * i and T the
// extent of w:
//
//   result   y[u]  = sum over v of x[cu*u + cv*v - low] * w[v]
//   filter   dw[u] = sum over v of x[cu*u + cv*v - low] * dy[v]
//            where dy may be dilated: v = low' + step' * i for its element i
//   image    dx[u] = sum over v of wide(dy)[u + cv*v] * w[T-1-v]
//            so tap t = T-1-v meets dy[i] at
//            u = step*i + cv*t - (cv*(T-1) - low)
//
// The first two have the same form: of the two tensors other than the image,
// the one of smaller extent is the filter, unless it is dilated.
//
//===----------------------------------------------------------------------===//

#ifndef STAGEWRIGHT_LIB_CONVERSION_BODIESTOKERNELS_CONVOLUTIONS_GEOMETRY_H
#define STAGEWRIGHT_LIB_CONVERSION_BODIESTOKERNELS_CONVOLUTIONS_GEOMETRY_H

#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "stagewright/Dialect/Rank/IR/Rank.h"

namespace stagewright::bodies {

using Numbers = llvm::SmallVector<int64_t>;

/// The operands and parameters of a `rank.convolve`.
struct Geometry {
  rank::Convolution writes = rank::Convolution::Result;
  /// Image, filter and result; null for the one that is written.
  std::array<mlir::Value, 3> operands;
  std::array<Numbers, 3> dims;
  Numbers stride, dilation, before, after; ///< by spatial dimension

  /// None if `op` is no convolution in one to three dimensions, or one that
  /// `rank.convolve` cannot express.
  static std::optional<Geometry> get(mlir::linalg::GenericOp op);
};

} // namespace stagewright::bodies

#endif // STAGEWRIGHT_LIB_CONVERSION_BODIESTOKERNELS_CONVOLUTIONS_GEOMETRY_H
