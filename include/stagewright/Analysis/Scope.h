//===- Scope.h - the user's scope of an operation ---------------*- C++ -*-===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Frameworks record the scopes of the model's source (jax.named_scope, module
// paths) in locations, wrapped in the names of their own transformations:
// `jit(step)/transpose(jvp(h0))/attn/dot_general` is in scope `h0/attn`. This
// file removes the wrappers. It is not a general location printer.
//
//===----------------------------------------------------------------------===//

#ifndef STAGEWRIGHT_ANALYSIS_SCOPE_H
#define STAGEWRIGHT_ANALYSIS_SCOPE_H

#include "mlir/IR/Location.h"
#include "llvm/ADT/SmallVector.h"

namespace stagewright::pipeline {

/// A path of scopes, outermost first; empty when there is none.
using ScopePath = llvm::SmallVector<llvm::StringRef, 4>;

/// Scopes in a name path such as `jit(f)/transpose(jvp(h0))/attn/mul`. The last
/// component names the operation and is not a scope. Wrappers of
/// differentiation and batching are removed; calls (`jit(f)`) and names that
/// the framework generates (loop bodies, einsum formulas) are dropped.
ScopePath parseScopePath(llvm::StringRef path);

/// The scopes in the names of `location` that are annotations (Annotation.h),
/// outermost first, each once.
llvm::SmallVector<llvm::StringRef, 1>
annotationScopesOf(mlir::Location location);

/// The scopes of the outermost named location in `location` whose name contains
/// scopes. At a call site the caller comes before the callee.
ScopePath scopeOf(mlir::Location location);

} // namespace stagewright::pipeline

#endif // STAGEWRIGHT_ANALYSIS_SCOPE_H
