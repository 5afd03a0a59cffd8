//===- CountFlops.h - arithmetic of a function ------------------*- C++ -*-===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What the cost model counts. It knows no operation by its size alone: a linalg
// operation of any kind does the arithmetic of its region at every point of its
// iteration domain, so a contraction counts 2 M N K, a convolution two per
// output and filter element, a pooling one. Loops count their body times their
// static trip count; one without counts once. Moving data counts nothing.
//
//===----------------------------------------------------------------------===//

#ifndef STAGEWRIGHT_ANALYSIS_COUNTFLOPS_H
#define STAGEWRIGHT_ANALYSIS_COUNTFLOPS_H

#include "mlir/Interfaces/FunctionInterfaces.h"
#include "llvm/ADT/DenseMap.h"

namespace stagewright::pipeline {

/// Counts functions, each once however often it is called.
class FlopCounter {
public:
  /// Scalar operations of one run of `function`, calls included. A division or
  /// root counts as 4, a transcendental function as 20.
  double count(mlir::FunctionOpInterface function);

private:
  double countRegion(mlir::Region &region);
  double countOperation(mlir::Operation *op);

  llvm::DenseMap<mlir::Operation *, double> known;
};

} // namespace stagewright::pipeline

#endif // STAGEWRIGHT_ANALYSIS_COUNTFLOPS_H
