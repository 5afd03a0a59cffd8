//===- DestinationStyle.h - operations that write to operands ---*- C++ -*-===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What operations in destination-passing style without a region have in common:
// their memory effects, and their bufferization. Bufferized, an operation has
// the same attributes, and its results are the buffers of its inits.
//
//===----------------------------------------------------------------------===//

#ifndef STAGEWRIGHT_DIALECT_PIPELINE_IR_DESTINATIONSTYLE_H
#define STAGEWRIGHT_DIALECT_PIPELINE_IR_DESTINATIONSTYLE_H

#include "mlir/Dialect/Bufferization/IR/BufferizableOpInterface.h"
#include "mlir/Interfaces/DestinationStyleOpInterface.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

namespace stagewright::pipeline {

/// Adds the effects of `op` on operands that are buffers: inputs are read,
/// inits are written, and with `readsInits` also read.
void listEffects(
    mlir::DestinationStyleOpInterface op,
    llvm::SmallVectorImpl<mlir::MemoryEffects::EffectInstance> &effects,
    bool readsInits);

/// The result that is in the buffer of `operand`, if that is an init.
mlir::bufferization::AliasingValueList
aliasesOf(mlir::DestinationStyleOpInterface op, mlir::OpOperand &operand);

/// Replaces `op`, whose inits are its last operands, by one on buffers.
mlir::LogicalResult
bufferizeInPlace(mlir::DestinationStyleOpInterface op,
                 mlir::RewriterBase &rewriter,
                 const mlir::bufferization::BufferizationOptions &options,
                 mlir::bufferization::BufferizationState &state);

} // namespace stagewright::pipeline

#endif // STAGEWRIGHT_DIALECT_PIPELINE_IR_DESTINATIONSTYLE_H
