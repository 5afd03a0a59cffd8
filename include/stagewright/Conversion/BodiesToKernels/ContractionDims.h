//===- ContractionDims.h - the dimensions of a contraction ------*- C++ -*-===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The dimensions of a contraction C += A * B, by the operands that they index,
// as in an einsum. Unlike upstream's inferContractionDims it takes maps, not an
// operation, so a change can be checked before it is made.
//
//===----------------------------------------------------------------------===//

#ifndef STAGEWRIGHT_CONVERSION_BODIESTOKERNELS_CONTRACTIONDIMS_H
#define STAGEWRIGHT_CONVERSION_BODIESTOKERNELS_CONTRACTIONDIMS_H

#include "mlir/IR/AffineMap.h"
#include "llvm/ADT/SmallVector.h"

namespace stagewright::bodies {

struct ContractionDims {
  llvm::SmallVector<unsigned> m;     ///< index A and C
  llvm::SmallVector<unsigned> n;     ///< index B and C
  llvm::SmallVector<unsigned> k;     ///< index A and B
  llvm::SmallVector<unsigned> batch; ///< index all three
  bool complete = true;              ///< each dimension indexes two or more

  /// From the indexing maps of A, B and C, all projected permutations.
  static ContractionDims get(llvm::ArrayRef<mlir::AffineMap> maps) {
    ContractionDims dims;
    for (unsigned dim = 0; dim < maps[0].getNumDims(); ++dim) {
      bool a = maps[0].isFunctionOfDim(dim), b = maps[1].isFunctionOfDim(dim),
           c = maps[2].isFunctionOfDim(dim);
      if (a && b && c)
        dims.batch.push_back(dim);
      else if (a && c)
        dims.m.push_back(dim);
      else if (b && c)
        dims.n.push_back(dim);
      else if (a && b)
        dims.k.push_back(dim);
      else
        dims.complete = false;
    }
    return dims;
  }
};

} // namespace stagewright::bodies

#endif // STAGEWRIGHT_CONVERSION_BODIESTOKERNELS_CONTRACTIONDIMS_H
