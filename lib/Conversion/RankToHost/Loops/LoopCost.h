//===- LoopCost.h - how long a loop takes, roughly --------------*- C++ -*-===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Enough to tell a loop that is worth a second thread (from some microseconds
// on) from one that is not; not a model of a processor.
//
//===----------------------------------------------------------------------===//

#ifndef STAGEWRIGHT_LIB_CONVERSION_RANKTOHOST_LOOPS_LOOPCOST_H
#define STAGEWRIGHT_LIB_CONVERSION_RANKTOHOST_LOOPS_LOOPCOST_H

#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/SymbolTable.h"

#include <optional>

namespace stagewright::host {

/// Turns of a loop with constant bounds.
std::optional<int64_t> turnsOf(mlir::scf::ForOp loop);

/// Nanoseconds of one run through `block`, loops and calls of the runtime
/// inside included.
double nanosecondsOf(mlir::Block &block, mlir::SymbolTable &symbols);

} // namespace stagewright::host

#endif // STAGEWRIGHT_LIB_CONVERSION_RANKTOHOST_LOOPS_LOOPCOST_H
