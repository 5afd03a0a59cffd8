//===- FunctionLike.h - assembly of operations like functions ---*- C++ -*-===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Parses and prints an operation in the assembly of `func.func`, with argument
// and result attributes. Used by `pipeline.graph` and `rank.step`.
//
//===----------------------------------------------------------------------===//

#ifndef STAGEWRIGHT_DIALECT_FUNCTIONLIKE_H
#define STAGEWRIGHT_DIALECT_FUNCTIONLIKE_H

#include "mlir/IR/Builders.h"
#include "mlir/Interfaces/FunctionImplementation.h"

namespace stagewright {

/// Parses an `Op` into `result`; fails with a located error.
template <typename Op>
mlir::ParseResult parseFunctionLike(mlir::OpAsmParser &parser,
                                    mlir::OperationState &result) {
  namespace impl = mlir::function_interface_impl;
  auto buildType =
      [](mlir::Builder &builder, mlir::ArrayRef<mlir::Type> arguments,
         mlir::ArrayRef<mlir::Type> results, impl::VariadicFlag,
         std::string &) { return builder.getFunctionType(arguments, results); };
  return impl::parseFunctionOp(parser, result, /*allowVariadic=*/false,
                               Op::getFunctionTypeAttrName(result.name),
                               buildType, Op::getArgAttrsAttrName(result.name),
                               Op::getResAttrsAttrName(result.name));
}

/// Prints `op` so that `parseFunctionLike` reads it.
template <typename Op>
void printFunctionLike(mlir::OpAsmPrinter &printer, Op op) {
  mlir::function_interface_impl::printFunctionOp(
      printer, op, /*isVariadic=*/false, op.getFunctionTypeAttrName(),
      op.getArgAttrsAttrName(), op.getResAttrsAttrName());
}

} // namespace stagewright

#endif // STAGEWRIGHT_DIALECT_FUNCTIONLIKE_H
