//===- LibraryCalls.h - calls with a descriptor -----------------*- C++ -*-===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Contractions, attention and convolutions become calls of the runtime, with a
// constant descriptor, whose type is in stagewright-rt/runtime.h or device.h,
// and the buffers as arguments. On a device the rank is the first argument.
//
//===----------------------------------------------------------------------===//

#ifndef STAGEWRIGHT_CONVERSION_BODIESTOKERNELS_LIBRARYCALLS_H
#define STAGEWRIGHT_CONVERSION_BODIESTOKERNELS_LIBRARYCALLS_H

#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/IR/BuiltinOps.h"
#include "llvm/ADT/StringMap.h"

namespace stagewright::bodies {

/// The number of an element type in stagewright-rt/runtime.h; -1 if no library
/// takes it.
int32_t dtypeOf(mlir::Type element);

/// Calls function `name` of the runtime, which returns nothing; declares it in
/// `module` if it is not there.
void callRuntime(mlir::OpBuilder &builder, mlir::Location loc,
                 mlir::ModuleOp module, llvm::StringRef name,
                 mlir::ValueRange arguments);

class LibraryCalls {
public:
  explicit LibraryCalls(mlir::ModuleOp module) : module(module) {}

  /// Creates a call of `callee`. `desc` consists of 64-bit words; `rank` may be
  /// null.
  template <typename Desc>
  void create(mlir::OpBuilder &builder, mlir::Location loc,
              llvm::StringRef callee, mlir::Value rank, const Desc &desc,
              mlir::ValueRange pointers) {
    static_assert(sizeof(Desc) % sizeof(int64_t) == 0);
    write(builder, loc, callee, rank,
          llvm::StringRef(reinterpret_cast<const char *>(&desc), sizeof(desc)),
          pointers);
  }

  /// Replaces `op`, in a function whose first argument is the rank, by a call
  /// with `buffers`, of which some may be null.
  template <typename Desc>
  void replace(mlir::Operation *op, llvm::StringRef callee, const Desc &desc,
               mlir::ValueRange buffers) {
    mlir::OpBuilder builder(op);
    create(builder, op->getLoc(), callee, rankOf(op), desc,
           pointersTo(builder, op->getLoc(), buffers));
    op->erase();
  }

  /// The rank, which is the first argument of the function with `op`.
  static mlir::Value rankOf(mlir::Operation *op);

private:
  static llvm::SmallVector<mlir::Value> pointersTo(mlir::OpBuilder &builder,
                                                   mlir::Location loc,
                                                   mlir::ValueRange buffers);
  void write(mlir::OpBuilder &builder, mlir::Location loc,
             llvm::StringRef callee, mlir::Value rank, llvm::StringRef desc,
             mlir::ValueRange pointers);
  /// The name of the constant `desc`; equal descriptors share one.
  llvm::StringRef nameOf(llvm::StringRef callee, llvm::StringRef desc,
                         mlir::Location loc);

  mlir::ModuleOp module;
  llvm::StringMap<std::string> names; ///< by function and descriptor
};

} // namespace stagewright::bodies

#endif // STAGEWRIGHT_CONVERSION_BODIESTOKERNELS_LIBRARYCALLS_H
