//===- Branches.h - results of scf.if as buffers ----------------*- C++ -*-===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef STAGEWRIGHT_LIB_CONVERSION_BODIESTOKERNELS_BRANCHES_H
#define STAGEWRIGHT_LIB_CONVERSION_BODIESTOKERNELS_BRANCHES_H

#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace stagewright::bodies {

/// If one branch yields a tensor from outside and the other one the same tensor
/// with some elements changed, as an update with one index does, makes both use
/// one buffer: the tensor's own if it may be overwritten, else a copy made
/// before the branches.
void updateBranchesInPlace(mlir::func::FuncOp body);

/// Copies every value that a branch yields from a slice of a tensor. If the
/// other branch yielded a whole tensor, or a copy of the slice, the layout of
/// the result would be known only at run time, and no kernel supports that.
void copyYieldedSlices(mlir::func::FuncOp body);

} // namespace stagewright::bodies

#endif // STAGEWRIGHT_LIB_CONVERSION_BODIESTOKERNELS_BRANCHES_H
