//===- PassText.h - passes as a user would type them ------------*- C++ -*-===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef STAGEWRIGHT_LIB_PIPELINES_PASSTEXT_H
#define STAGEWRIGHT_LIB_PIPELINES_PASSTEXT_H

#include "mlir/IR/BuiltinOps.h"
#include "mlir/Support/Timing.h"
#include <string>

namespace mlir {
class OpPassManager;
} // namespace mlir

namespace stagewright {

/// A pass with its options, as text: the same that a user would type. Options
/// without a value are left out.
std::string
passText(llvm::StringRef flag,
         llvm::ArrayRef<std::pair<llvm::StringRef, std::string>> options = {});

/// Runs what `build` appends, with its shares in `timing`.
mlir::LogicalResult
runPasses(mlir::ModuleOp module, mlir::TimingScope &timing,
          llvm::function_ref<mlir::LogicalResult(mlir::OpPassManager &)> build);

/// The same for passes as text.
mlir::LogicalResult runText(mlir::ModuleOp module, mlir::TimingScope &timing,
                            llvm::ArrayRef<std::string> passes);

} // namespace stagewright

#endif // STAGEWRIGHT_LIB_PIPELINES_PASSTEXT_H
