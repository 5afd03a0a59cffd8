//===- Epilogues.h - operations fused with a product ------------*- C++ -*-===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// On tensors, an elementwise operation that the library call of a product can
// also do has the hint `device.epilogue` with the name of the epilogue. On
// buffers, if these suit the library, both become one `rank.contract`, and the
// elementwise operation also becomes the kernel for a library that cannot do
// it. Otherwise, or without the hint, it is a kernel like others.
//
//   bias, bias_gelu   ins(row)    outs(product)
//   gelu              ins()       outs(product)
//   gelu_aux          ins(product)  outs(result)
//   bias_gelu_aux     ins(row)    outs(result, product); product += row
//   dgelu             ins(aux)    outs(product)
//   add               ins(array)  outs(product)
//
//===----------------------------------------------------------------------===//

#ifndef STAGEWRIGHT_CONVERSION_RANKTODEVICE_EPILOGUES_H
#define STAGEWRIGHT_CONVERSION_RANKTODEVICE_EPILOGUES_H

#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "stagewright/Dialect/Rank/IR/Rank.h"

namespace stagewright::device {

/// If users of a product on tensors form an epilogue, merges these into one
/// operation in the place of the first of them. With `gelu_aux` the product may
/// have other users. Returns that operation, or null.
mlir::linalg::GenericOp findEpilogue(mlir::linalg::ContractOp product);

/// The product that `epilogue` reads or overwrites; null if `epilogue` does not
/// have the hint.
mlir::Value productOf(mlir::linalg::GenericOp epilogue);

/// On buffers: includes epilogues in their products. `outline` creates, behind
/// an operation, a `rank.otherwise` of a kernel that does the same.
void includeEpilogues(mlir::Block &body,
                      llvm::function_ref<void(mlir::Operation *)> outline);

/// On buffers: whether `op` is a single matrix product, not a batch of them,
/// that one library call computes, with C in row-major order.
bool isOneProduct(rank::ContractOp op);

} // namespace stagewright::device

#endif // STAGEWRIGHT_CONVERSION_RANKTODEVICE_EPILOGUES_H
