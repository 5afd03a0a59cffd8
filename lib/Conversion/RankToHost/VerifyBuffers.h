//===- VerifyBuffers.h - no buffer written before it is read ----*- C++ -*-===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef STAGEWRIGHT_CONVERSION_RANKTOHOST_VERIFYBUFFERS_H
#define STAGEWRIGHT_CONVERSION_RANKTOHOST_VERIFYBUFFERS_H

#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace stagewright::host {

/// Fails, with the reader, the value and the writer, if an operation of body
/// `function` reads a value after another has written to its buffer. Expects
/// tensors of which every operation writes in place.
mlir::LogicalResult verifyBuffers(mlir::func::FuncOp function);

} // namespace stagewright::host

#endif // STAGEWRIGHT_CONVERSION_RANKTOHOST_VERIFYBUFFERS_H
