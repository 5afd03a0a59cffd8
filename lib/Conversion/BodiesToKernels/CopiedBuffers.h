//===- CopiedBuffers.h - write results where they are copied to -*- C++ -*-===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef STAGEWRIGHT_LIB_CONVERSION_BODIESTOKERNELS_COPIEDBUFFERS_H
#define STAGEWRIGHT_LIB_CONVERSION_BODIESTOKERNELS_COPIEDBUFFERS_H

#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace stagewright::bodies {

/// If an operation writes a buffer that is only copied into a box of another
/// buffer, makes it write to that box: for example the gradients of q, k and v,
/// which form one array. Elimination of empty tensors does that for tensors of
/// the shape of the box that are made one after another, not for several
/// results of one operation, nor through a reshape.
void writeWhereCopied(mlir::func::FuncOp body);

} // namespace stagewright::bodies

#endif // STAGEWRIGHT_LIB_CONVERSION_BODIESTOKERNELS_COPIEDBUFFERS_H
