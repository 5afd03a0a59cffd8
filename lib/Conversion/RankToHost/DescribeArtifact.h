//===- DescribeArtifact.h - the facts of an artifact ------------*- C++ -*-===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// `rank.artifact` is all that the runtime knows of rank programs. Generated
// code refers to channels, collectives, buffers and nodes by number; code and
// artifact both take the numbers from the functions below.
//
//===----------------------------------------------------------------------===//

#ifndef STAGEWRIGHT_CONVERSION_RANKTOHOST_DESCRIBEARTIFACT_H
#define STAGEWRIGHT_CONVERSION_RANKTOHOST_DESCRIBEARTIFACT_H

#include "mlir/IR/BuiltinOps.h"
#include "stagewright/Dialect/Rank/IR/Rank.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/StringMap.h"

namespace stagewright::host {

/// Numbers the channels of a module in program order.
llvm::StringMap<int64_t> numberChannels(mlir::ModuleOp module);
llvm::StringMap<int64_t> numberCollectives(mlir::ModuleOp module);

/// Numbers the buffers of a program in program order.
llvm::DenseMap<mlir::Value, int64_t> numberBuffers(rank::ProgramOp program);

/// Numbers the nodes of a program in the order of their first calls.
llvm::MapVector<mlir::StringAttr, int64_t> numberNodes(rank::ProgramOp program);

/// The symbol of the data of argument `index` of the step.
std::string dataSymbol(unsigned index);

/// Creates the `rank.artifact` of the programs of `module` at its beginning, or
/// reports an operation that it cannot describe.
mlir::FailureOr<rank::ArtifactOp> describeArtifact(mlir::ModuleOp module);

} // namespace stagewright::host

#endif // STAGEWRIGHT_CONVERSION_RANKTOHOST_DESCRIBEARTIFACT_H
