//===- VerifyBuffers.h - no value overwritten before read -------*- C++ -*-===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef STAGEWRIGHT_LIB_CONVERSION_BODIESTOKERNELS_VERIFYBUFFERS_H
#define STAGEWRIGHT_LIB_CONVERSION_BODIESTOKERNELS_VERIFYBUFFERS_H

#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace stagewright::bodies {

/// Fails if an operation of body `function` reads a value after another
/// operation has overwritten its buffer; the error names the reader, the value
/// and the writer. Fails too if a loop leaves a carried value in a buffer other
/// than the one that the next iteration reads. Every operation must write in
/// place, as after bufferization::insertTensorCopies().
mlir::LogicalResult verifyBuffers(mlir::func::FuncOp function);

} // namespace stagewright::bodies

#endif // STAGEWRIGHT_LIB_CONVERSION_BODIESTOKERNELS_VERIFYBUFFERS_H
