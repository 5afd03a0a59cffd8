//===- LibraryCalls.h - calls with a descriptor -----------------*- C++ -*-===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Attention and convolutions become calls of the runtime, with the rank, a
// descriptor of stagewright-rt/device.h, and the buffers as arguments.
//
//===----------------------------------------------------------------------===//

#ifndef STAGEWRIGHT_CONVERSION_RANKTODEVICE_LIBRARYCALLS_H
#define STAGEWRIGHT_CONVERSION_RANKTODEVICE_LIBRARYCALLS_H

#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/IR/BuiltinOps.h"
#include "llvm/ADT/StringMap.h"

namespace stagewright::device {

class LibraryCalls {
public:
  /// Constants of `module` are named `prefix`.0, `prefix`.1, …
  LibraryCalls(mlir::ModuleOp module, llvm::StringRef prefix)
      : module(module), prefix(prefix.str()) {}

  /// Replaces `op` by a call of `callee`. `op` is in a function whose first
  /// argument is the rank. `desc` consists of 64-bit words.
  template <typename Desc>
  void replace(mlir::Operation *op, llvm::StringRef callee, const Desc &desc,
               mlir::ValueRange buffers) {
    static_assert(sizeof(Desc) % sizeof(int64_t) == 0);
    replace(
        op, callee,
        llvm::StringRef(reinterpret_cast<const char *>(&desc), sizeof(desc)),
        buffers);
  }

private:
  void replace(mlir::Operation *op, llvm::StringRef callee,
               llvm::StringRef desc, mlir::ValueRange buffers);
  /// The name of the constant `desc`; equal descriptors share one.
  llvm::StringRef nameOf(llvm::StringRef desc, mlir::Location loc);

  mlir::ModuleOp module;
  std::string prefix;
  llvm::StringMap<std::string> names; ///< by descriptor
};

} // namespace stagewright::device

#endif // STAGEWRIGHT_CONVERSION_RANKTODEVICE_LIBRARYCALLS_H
