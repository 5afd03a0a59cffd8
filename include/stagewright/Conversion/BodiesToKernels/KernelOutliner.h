//===- KernelOutliner.h - outline kernels, share equal ones -----*- C++ -*-===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Used for kernels of the host and of devices: operations on buffers become a
// private function marked `host.kernel` and a call of it. The values that the
// operations read from outside become its arguments, except constants and views
// that a pointer alone does not describe: these are cloned into the function.
// Of functions with equal text only one is kept.
//
//===----------------------------------------------------------------------===//

#ifndef STAGEWRIGHT_CONVERSION_BODIESTOKERNELS_KERNELOUTLINER_H
#define STAGEWRIGHT_CONVERSION_BODIESTOKERNELS_KERNELOUTLINER_H

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/IR/SymbolTable.h"
#include "stagewright/Conversion/BodiesToKernels/Passes.h"
#include "llvm/ADT/SetVector.h"
#include "llvm/ADT/StringMap.h"

namespace stagewright::bodies {

class KernelOutliner {
public:
  explicit KernelOutliner(mlir::ModuleOp module) : symbols(module) {}

  /// The bodies of nodes.
  llvm::SmallVector<mlir::func::FuncOp> bodies() const;

  struct Request {
    llvm::ArrayRef<mlir::Operation *> ops; ///< in program order
    /// Operations to clone into the kernel too.
    llvm::SetVector<mlir::Operation *> kept;
    /// Additional arguments.
    mlir::ValueRange more;
    /// Writes the operations into the kernel.
    llvm::function_ref<void(mlir::OpBuilder &, mlir::IRMapping &)> write;
    /// Called with the kernel and the operands of its call, before views among
    /// them are rebased, unless null.
    llvm::function_ref<void(mlir::func::FuncOp, llvm::ArrayRef<mlir::Value>)>
        describe;
    /// Whether numbers that are computed from memory outside of the kernel are
    /// computed in it instead: the host cannot read a device's memory.
    bool readsScalars = false;
    /// Bytes to which the kernel expects its buffers to be aligned.
    int64_t alignment = kAlignment;
  };

  /// Inserts the call before the first operation; the operations are not
  /// erased. Returns whether the kernel is new, not equal to an earlier one.
  bool outline(const Request &request);

private:
  void collect(mlir::Operation *op, const Request &request,
               llvm::SetVector<mlir::Value> &arguments,
               llvm::SetVector<mlir::Operation *> &moved);

  mlir::SymbolTable symbols;
  llvm::StringMap<mlir::func::FuncOp> known;
};

} // namespace stagewright::bodies

#endif // STAGEWRIGHT_CONVERSION_BODIESTOKERNELS_KERNELOUTLINER_H
