//===- WriteTwins.h - kernels as code of the host ---------------*- C++ -*-===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef STAGEWRIGHT_LIB_TARGET_TWIN_WRITETWINS_H
#define STAGEWRIGHT_LIB_TARGET_TWIN_WRITETWINS_H

#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/IR/BuiltinOps.h"

namespace stagewright {

/// Adds a function of the host to `module` for every kernel of `kernels`, and
/// the table of them (stagewright-rt/twins.h). Fails for an operation that has
/// no meaning outside one vendor's devices, and names it.
mlir::LogicalResult writeTwins(mlir::ModuleOp module,
                               mlir::gpu::GPUModuleOp kernels);

} // namespace stagewright

#endif // STAGEWRIGHT_LIB_TARGET_TWIN_WRITETWINS_H
