//===- Passes.h - from rank programs to kernels of a device -----*- C++ -*-===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Constructors and registration of the passes in dialects/Rank/DevicePasses.td,
// which describes each. They end at the gpu dialect; the lowering specific to a
// vendor follows in Target. The passes before them are in BodiesToKernels, for
// every target.
//
//===----------------------------------------------------------------------===//

#ifndef STAGEWRIGHT_CONVERSION_RANKTODEVICE_PASSES_H
#define STAGEWRIGHT_CONVERSION_RANKTODEVICE_PASSES_H

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/Pass/Pass.h"
#include "stagewright/Conversion/BodiesToKernels/Passes.h"
#include "stagewright/Dialect/Rank/IR/Rank.h"

namespace stagewright::device {

#define GEN_PASS_DECL
#define GEN_PASS_REGISTRATION
#include "stagewright/Conversion/RankToDevice/Passes.h.inc"

/// Hint on an elementwise operation that reads a product: the call of the
/// product can include it as this epilogue. An operation without the hint
/// becomes a kernel.
constexpr llvm::StringLiteral kEpilogue = "device.epilogue";
/// Attribute of an operation of a body: the number of its kernel in that body.
constexpr llvm::StringLiteral kGroup = "device.group";
/// Attribute of a loop: the operations of each iteration become kernels and
/// calls of their own.
constexpr llvm::StringLiteral kUnroll = "device.unroll";
/// Attribute of a member of a row group, or of a sum over its own innermost
/// loop: for each row loop, the number of that loop in the operation.
constexpr llvm::StringLiteral kRows = "device.rows";
/// Attribute of a sum over rows: the number of partial sums that its kernel
/// stores, in the buffers that are its last arguments.
constexpr llvm::StringLiteral kParts = "device.parts";
/// Max elements of a row that the threads of a block keep in registers.
constexpr int64_t kLongestRow = 8192;
/// Name of the module that contains all kernels.
constexpr llvm::StringLiteral kKernels = "kernels";

/// The name, in that module, of the kernel that is written from `function`.
std::string nameOfKernel(llvm::StringRef function);

} // namespace stagewright::device

#endif // STAGEWRIGHT_CONVERSION_RANKTODEVICE_PASSES_H
