//===- CopiedBuffers.h - buffers made where they are copied ------*- C++
//-*-===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef STAGEWRIGHT_CONVERSION_RANKTOHOST_COPIEDBUFFERS_H
#define STAGEWRIGHT_CONVERSION_RANKTOHOST_COPIEDBUFFERS_H

#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace stagewright::host {

/// Lets what one operation writes to a buffer of its own, only for it to be
/// copied into a box of another buffer, be written there: gradients of q, k and
/// v, say, of which one array is made. Elimination of empty tensors does that
/// for tensors of the box's shape that are made one after another, not for
/// several results of one operation, nor behind a reshape.
void writeWhereCopied(mlir::func::FuncOp body);

} // namespace stagewright::host

#endif // STAGEWRIGHT_CONVERSION_RANKTOHOST_COPIEDBUFFERS_H
