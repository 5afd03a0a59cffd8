//===- EqualBodies.h - functions with equal bodies --------------*- C++ -*-===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef STAGEWRIGHT_ANALYSIS_EQUALBODIES_H
#define STAGEWRIGHT_ANALYSIS_EQUALBODIES_H

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "llvm/ADT/MapVector.h"

namespace stagewright::pipeline {

/// A set of functions, no two of them equal up to names and locations.
class EqualBodies {
public:
  /// The function of the set that equals `body`; if there is none, adds `body`
  /// and returns it.
  mlir::func::FuncOp find(mlir::func::FuncOp body);

private:
  llvm::MapVector<size_t, llvm::SmallVector<mlir::func::FuncOp, 1>> byHash;
};

} // namespace stagewright::pipeline

#endif // STAGEWRIGHT_ANALYSIS_EQUALBODIES_H
