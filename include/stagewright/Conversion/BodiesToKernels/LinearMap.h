//===- LinearMap.h - coefficients of linear indexing maps -------*- C++ -*-===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Coefficients of indexing maps whose results are linear in the dimensions,
// such as those of contractions and convolutions.
//
//===----------------------------------------------------------------------===//

#ifndef STAGEWRIGHT_CONVERSION_BODIESTOKERNELS_LINEARMAP_H
#define STAGEWRIGHT_CONVERSION_BODIESTOKERNELS_LINEARMAP_H

#include "mlir/Analysis/FlatLinearValueConstraints.h"
#include "mlir/IR/AffineMap.h"

#include <optional>

namespace stagewright::bodies {

/// The coefficient of every dimension (inner) in every result (outer); none if
/// a result is not linear or has a constant term, or if the map has symbols.
inline std::optional<llvm::SmallVector<llvm::SmallVector<int64_t>>>
coefficientsOf(mlir::AffineMap map) {
  llvm::SmallVector<llvm::SmallVector<int64_t>> results;
  for (mlir::AffineExpr result : map.getResults()) {
    llvm::SmallVector<int64_t> flat;
    if (mlir::failed(mlir::getFlattenedAffineExpr(result, map.getNumDims(),
                                                  map.getNumSymbols(), &flat)))
      return std::nullopt;
    if (map.getNumSymbols() || flat.size() != map.getNumDims() + 1 ||
        flat.back() != 0)
      return std::nullopt;
    flat.pop_back();
    results.push_back(std::move(flat));
  }
  return results;
}

} // namespace stagewright::bodies

#endif // STAGEWRIGHT_CONVERSION_BODIESTOKERNELS_LINEARMAP_H
