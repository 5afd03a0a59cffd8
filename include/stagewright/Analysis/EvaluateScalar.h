//===- EvaluateScalar.h - operations on scalars in real numbers -*- C++ -*-===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef STAGEWRIGHT_ANALYSIS_EVALUATESCALAR_H
#define STAGEWRIGHT_ANALYSIS_EVALUATESCALAR_H

#include "mlir/IR/Operation.h"
#include <optional>

namespace stagewright {

/// The result of `op`, an operation of the arith or math dialect, on `operands`
/// as real numbers: nothing is rounded to narrow types. True is 1, false is 0.
/// None if the operation is unknown. Constants are for the caller.
std::optional<double> evaluateScalar(mlir::Operation *op,
                                     llvm::ArrayRef<double> operands);

} // namespace stagewright

#endif // STAGEWRIGHT_ANALYSIS_EVALUATESCALAR_H
