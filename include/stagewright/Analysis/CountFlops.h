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
// Contractions are counted by the element type of their inputs and by their
// size as well: devices do them at other rates in other types, and small ones
// reach less of it.
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
  /// The part of contractions; their types are "f32", "bf16", "f8" for all of
  /// eight bits; types that no device has a rate for are left out.
  std::map<Contraction, Flops> contractions;

  FlopCount &operator+=(const FlopCount &other);
  FlopCount operator*(double times) const;
};

/// Counts functions, each once however often it is called.
class FlopCounter {
public:
  /// One run of `function`, calls included.
  FlopCount count(mlir::FunctionOpInterface function);

  /// One run of `op`, with its regions.
  FlopCount countOperation(mlir::Operation *op);

private:
  FlopCount countRegion(mlir::Region &region);

  llvm::DenseMap<mlir::Operation *, FlopCount> known;
};

/// What `node` does by its cost, with the contractions of its body by type.
NodeWork workOf(NodeOp node, FlopCounter &counter);

} // namespace stagewright::pipeline

#endif // STAGEWRIGHT_ANALYSIS_COUNTFLOPS_H
