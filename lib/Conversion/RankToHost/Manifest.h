//===- Manifest.h - the manifest of an artifact -----------------*- C++ -*-===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The manifest is all that the runtime knows of a program: arguments, results,
// channels, and the buffers of every rank with their sizes. Generated code
// refers to all of them by number; code and manifest both take the numbers from
// the functions below. Properties that only the emission knows (processor,
// libraries, symbols of data) are added there.
//
//===----------------------------------------------------------------------===//

#ifndef STAGEWRIGHT_CONVERSION_RANKTOHOST_MANIFEST_H
#define STAGEWRIGHT_CONVERSION_RANKTOHOST_MANIFEST_H

#include "mlir/IR/BuiltinOps.h"
#include "stagewright/Dialect/Rank/IR/Rank.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/Support/JSON.h"

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

/// The manifest of the rank programs of `module`, or an error at an operation
/// that it cannot describe.
mlir::FailureOr<llvm::json::Object> buildManifest(mlir::ModuleOp module);

} // namespace stagewright::host

#endif // STAGEWRIGHT_CONVERSION_RANKTOHOST_MANIFEST_H
