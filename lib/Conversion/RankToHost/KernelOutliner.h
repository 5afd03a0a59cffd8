//===- KernelOutliner.h - operations as functions, equal ones once -*- C++
//-*-===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What kernels of the host and of devices share: operations on buffers become a
// private function marked `host.kernel`, whose arguments are what they read
// from outside, and a call of it. Constants, and views that a pointer alone
// does not describe, move inside; functions that print alike are one.
//
//===----------------------------------------------------------------------===//

#ifndef STAGEWRIGHT_LIB_CONVERSION_RANKTOHOST_KERNELOUTLINER_H
#define STAGEWRIGHT_LIB_CONVERSION_RANKTOHOST_KERNELOUTLINER_H

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/IR/SymbolTable.h"
#include "llvm/ADT/SetVector.h"
#include "llvm/ADT/StringMap.h"

namespace stagewright::host {

class KernelOutliner {
public:
  explicit KernelOutliner(mlir::ModuleOp module) : symbols(module) {}

  /// The bodies of nodes, as they are before the first kernel is added.
  llvm::SmallVector<mlir::func::FuncOp> bodies() const;

  struct Request {
    llvm::ArrayRef<mlir::Operation *> ops; ///< from the first to the last
    /// What moves inside too, and arguments that `ops` do not name.
    llvm::SetVector<mlir::Operation *> kept;
    mlir::ValueRange more;
    /// Writes the operations into the kernel.
    llvm::function_ref<void(mlir::OpBuilder &, mlir::IRMapping &)> write;
    /// Told of the kernel and what it is called with, unless null.
    llvm::function_ref<void(mlir::func::FuncOp, llvm::ArrayRef<mlir::Value>)>
        describe;
  };

  /// Puts the call before the first operation; these stay. Whether the kernel
  /// is a new one.
  bool outline(const Request &request);

private:
  void collect(mlir::Operation *op, const Request &request,
               llvm::SetVector<mlir::Value> &arguments,
               llvm::SetVector<mlir::Operation *> &moved);

  mlir::SymbolTable symbols;
  llvm::StringMap<mlir::func::FuncOp> known;
};

} // namespace stagewright::host

#endif // STAGEWRIGHT_LIB_CONVERSION_RANKTOHOST_KERNELOUTLINER_H
