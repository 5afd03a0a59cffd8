//===- Manifest.h - what an artifact says about itself ----------*- C++ -*-===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The manifest is the runtime's whole knowledge of a program: arguments,
// results, channels, and the buffers of every rank with their sizes. Generated
// code names all of them by number; `Numbering` gives the numbers, and both
// sides take them from here. What only the emission knows (processor,
// libraries, symbols of data) is added there.
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

/// Numbers of the channels of a module: their order in the text.
llvm::StringMap<int64_t> numberChannels(mlir::ModuleOp module);
llvm::StringMap<int64_t> numberCollectives(mlir::ModuleOp module);

/// Numbers of the buffers of a program: their order in the text.
llvm::DenseMap<mlir::Value, int64_t> numberBuffers(rank::ProgramOp program);

/// Numbers of the nodes of a program: the order of their first calls.
llvm::MapVector<mlir::StringAttr, int64_t> numberNodes(rank::ProgramOp program);

/// Name of the data of argument number `index` of the step.
std::string dataSymbol(unsigned index);

/// The manifest of the rank programs of `module`, or an error at the operation
/// that has no place in one.
mlir::FailureOr<llvm::json::Object> buildManifest(mlir::ModuleOp module);

} // namespace stagewright::host

#endif // STAGEWRIGHT_CONVERSION_RANKTOHOST_MANIFEST_H
