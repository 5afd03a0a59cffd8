//===- Constants.h - constant arrays that kernels read ----------*- C++ -*-===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef STAGEWRIGHT_LIB_TARGET_CONSTANTS_H
#define STAGEWRIGHT_LIB_TARGET_CONSTANTS_H

#include "mlir/IR/BuiltinOps.h"

namespace stagewright {

/// Exports the constant arrays of `module` and returns them, each a
/// `#rank.constant`. They are in the host's memory, which kernels cannot read,
/// so the runtime copies them to every device and passes kernels the copies'
/// addresses. An array's name is a hash of its type and contents, so that equal
/// code has equal text in all programs.
mlir::ArrayAttr exportConstants(mlir::ModuleOp module);

} // namespace stagewright

#endif // STAGEWRIGHT_LIB_TARGET_CONSTANTS_H
