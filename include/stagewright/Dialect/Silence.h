//===- Silence.h - drop diagnostics of an attempt ---------------*- C++ -*-===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef STAGEWRIGHT_DIALECT_SILENCE_H
#define STAGEWRIGHT_DIALECT_SILENCE_H

#include "mlir/IR/Diagnostics.h"
#include "llvm/Support/Threading.h"

namespace stagewright {

/// Drops the diagnostics of this thread while it exists: for an attempt that
/// may fail, or for a run that would repeat those of an earlier one. With
/// Errors, errors are still reported. The diagnostics of other threads that use
/// the context are not dropped.
struct Silence : mlir::ScopedDiagnosticHandler {
  enum Kept { Nothing, Errors };
  explicit Silence(mlir::MLIRContext *context, Kept kept = Nothing)
      : ScopedDiagnosticHandler(
            context, [own = llvm::get_threadid(), kept](mlir::Diagnostic &it) {
              bool isKept = kept == Errors &&
                            it.getSeverity() == mlir::DiagnosticSeverity::Error;
              return mlir::success(llvm::get_threadid() == own && !isKept);
            }) {}
};

} // namespace stagewright

#endif // STAGEWRIGHT_DIALECT_SILENCE_H
