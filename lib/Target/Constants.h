//===- Constants.h - data that kernels read of the program ------*- C++ -*-===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef STAGEWRIGHT_LIB_TARGET_CONSTANTS_H
#define STAGEWRIGHT_LIB_TARGET_CONSTANTS_H

#include "mlir/IR/BuiltinOps.h"

namespace stagewright {

/// Exports the constant arrays of `module` and lists them in the manifest, as
/// "constants": they lie in the host's memory, where no kernel can read them,
/// so the runtime copies them to every device and gives kernels those
/// addresses. Names follow from what an array holds, so that the same code has
/// the same text in every program.
void exportConstants(mlir::ModuleOp module);

} // namespace stagewright

#endif // STAGEWRIGHT_LIB_TARGET_CONSTANTS_H
