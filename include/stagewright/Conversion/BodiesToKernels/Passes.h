//===- Passes.h - from bodies on tensors to kernels on buffers --*- C++ -*-===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Constructors and registration of the passes in dialects/Rank/BodyPasses.td,
// which describes each. They transform the bodies of nodes for every target:
// they raise contractions, fuse elementwise operations, place buffers and
// outline kernels. RankToHost and RankToDevice then write the kernels; neither
// depends on the other. The order of the passes was found by measurement;
// lib/Pipelines defines it.
//
//===----------------------------------------------------------------------===//

#ifndef STAGEWRIGHT_CONVERSION_BODIESTOKERNELS_PASSES_H
#define STAGEWRIGHT_CONVERSION_BODIESTOKERNELS_PASSES_H

#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Bufferization/IR/Bufferization.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/Pass/Pass.h"
#include "stagewright/Dialect/LLVM.h"

namespace stagewright::bodies {

#define GEN_PASS_DECL
#define GEN_PASS_REGISTRATION
#include "stagewright/Conversion/BodiesToKernels/Passes.h.inc"

/// Argument attribute of a body: the body adds to the argument. The last
/// results of the body are tied to such arguments, in order.
constexpr llvm::StringLiteral kAccumulate = "rank.accumulate";
/// Function attribute of a body: bytes of workspace it needs; the workspace is
/// its last argument.
constexpr llvm::StringLiteral kWorkspace = "rank.workspace";
/// Hint on a loop: its iterations are independent and may run in parallel.
/// Without it they run one after the other.
constexpr llvm::StringLiteral kParallel = "host.parallel";
/// Alignment of every buffer, in bytes: a cache line, and the widest vector.
constexpr int64_t kAlignment = 64;

/// Whether `function` is a body on tensors or buffers: private, with a region,
/// not a kernel.
bool isBody(mlir::func::FuncOp function);

} // namespace stagewright::bodies

#endif // STAGEWRIGHT_CONVERSION_BODIESTOKERNELS_PASSES_H
