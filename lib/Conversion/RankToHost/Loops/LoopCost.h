//===- LoopCost.h - estimated time of a loop --------------------*- C++ -*-===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Estimates the time of a loop, accurately enough to decide whether a second
// thread pays off (from some microseconds on). It is not a model of a
// processor.
//
//===----------------------------------------------------------------------===//

#ifndef STAGEWRIGHT_LIB_CONVERSION_RANKTOHOST_LOOPS_LOOPCOST_H
#define STAGEWRIGHT_LIB_CONVERSION_RANKTOHOST_LOOPS_LOOPCOST_H

#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/SymbolTable.h"

#include <optional>

namespace stagewright::host {

/// The trip count of a loop with constant bounds.
std::optional<int64_t> turnsOf(mlir::scf::ForOp loop);

/// Nanoseconds of one execution of `block`, with the loops and the calls of
/// sw_gemm and sw_convolution in it; other calls count 0.
double nanosecondsOf(mlir::Block &block, mlir::SymbolTable &symbols);

} // namespace stagewright::host

#endif // STAGEWRIGHT_LIB_CONVERSION_RANKTOHOST_LOOPS_LOOPCOST_H
