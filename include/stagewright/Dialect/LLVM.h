//===- LLVM.h - names of MLIR and LLVM in this project ----------*- C++ -*-===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Makes the names of MLIR, and the names of LLVM that MLIR imports, visible in
// namespace stagewright, so that code inside this namespace needs no directive.
// Where a name of ours is also one of MLIR's, ours hides MLIR's, which is then
// written with mlir::. A file that has `using namespace stagewright` sees both,
// and must qualify ours too, with stagewright::. Headers of plain data do not
// include this one.
//
//===----------------------------------------------------------------------===//

#ifndef STAGEWRIGHT_DIALECT_LLVM_H
#define STAGEWRIGHT_DIALECT_LLVM_H

#include "mlir/Support/LLVM.h"

namespace stagewright {
using namespace mlir;
} // namespace stagewright

#endif // STAGEWRIGHT_DIALECT_LLVM_H
