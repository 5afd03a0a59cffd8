//===- LLVM.h - names of MLIR and LLVM in this project ----------*- C++ -*-===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Makes MLIR's names visible in namespace stagewright, and with them the names
// of LLVM that MLIR imports: code inside this namespace needs no directive. Our
// own names hide MLIR's: where both exist, as Value does, write mlir::Value. A
// program that says `using namespace stagewright` sees both, and must qualify
// ours too, as stagewright::Value. Plain data never includes this.
//
//===----------------------------------------------------------------------===//

#ifndef STAGEWRIGHT_DIALECT_LLVM_H
#define STAGEWRIGHT_DIALECT_LLVM_H

#include "mlir/Support/LLVM.h"

namespace stagewright {
using namespace mlir;
} // namespace stagewright

#endif // STAGEWRIGHT_DIALECT_LLVM_H
