//===- Passes.h - from rank programs to native code of the host -*- C++ -*-===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Constructors and registration of the passes in dialects/Rank/HostPasses.td,
// which describes each. The first groups operations of bodies over the same
// rows; the others lower kernels and rank programs to the LLVM dialect. Passes
// of BodiesToKernels run before and between them (lib/Pipelines has the order).
// None depends on stages or schedules. Rank programs for devices are host code
// too, and are lowered by the same passes.
//
//===----------------------------------------------------------------------===//

#ifndef STAGEWRIGHT_CONVERSION_RANKTOHOST_PASSES_H
#define STAGEWRIGHT_CONVERSION_RANKTOHOST_PASSES_H

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
#include "stagewright/Conversion/BodiesToKernels/Passes.h"

namespace stagewright::host {

#define GEN_PASS_DECL
#define GEN_PASS_REGISTRATION
#include "stagewright/Conversion/RankToHost/Passes.h.inc"

} // namespace stagewright::host

#endif // STAGEWRIGHT_CONVERSION_RANKTOHOST_PASSES_H
