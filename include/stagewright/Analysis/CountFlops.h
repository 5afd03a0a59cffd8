//===- CountFlops.h - arithmetic of a function ------------------*- C++ -*-===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The arithmetic that the cost model counts. A linalg operation does the
// arithmetic of its region at every point of its iteration domain, so
// contractions, convolutions and poolings need no formulas of their own: a
// contraction counts 2 M N K, a convolution two per output element and term of
// its sum, a pooling one. Softmax, attention and operations of tosa have
// formulas. A loop counts its body times its static trip count, or once if that
// is unknown. Moving data counts 0.
//
// Contractions are also counted by the element type of their inputs and by
// their size, because the rate of a device depends on the type, and small
// contractions reach less of it.
//
//===----------------------------------------------------------------------===//

#ifndef STAGEWRIGHT_ANALYSIS_COUNTFLOPS_H
#define STAGEWRIGHT_ANALYSIS_COUNTFLOPS_H

#include "mlir/Interfaces/FunctionInterfaces.h"
#include "stagewright/Cost/Roofline.h"
#include "stagewright/Dialect/Pipeline/IR/Pipeline.h"
#include "llvm/ADT/DenseMap.h"
#include <map>
#include <string>

namespace stagewright::pipeline {

/// Scalar operations; a division or root counts as 4, a transcendental function
/// as 20.
struct FlopCount {
  double total = 0;
  /// The part in contractions, by type ("f32", "bf16"; "f8" for all 8-bit
  /// floats) and size. Types without a rate on any device are left out.
  std::map<Contraction, Flops> contractions;

  FlopCount &operator+=(const FlopCount &other);
  FlopCount operator*(double times) const;
};

/// Counts the arithmetic of functions; each is analysed once and cached.
class FlopCounter {
public:
  /// The arithmetic of one run of `function`, including its calls.
  FlopCount count(mlir::FunctionOpInterface function);

  /// The arithmetic of one run of `op`, including its regions.
  FlopCount countOperation(mlir::Operation *op);

private:
  FlopCount countRegion(mlir::Region &region);

  llvm::DenseMap<mlir::Operation *, FlopCount> known;
};

/// The work in the cost of `node`, with the contractions of its body by type.
NodeWork workOf(NodeOp node, FlopCounter &counter);

} // namespace stagewright::pipeline

#endif // STAGEWRIGHT_ANALYSIS_COUNTFLOPS_H
