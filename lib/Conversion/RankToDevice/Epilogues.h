//===- Epilogues.h - operations fused with a product ------------*- C++ -*-===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A contraction and the elementwise operation that its library call also does
// are adjacent, both with `host.epilogue`, the name in sw_epilogue. The mark
// does not change their meaning: if their buffers turn out not to suit the
// library, they lose the mark and the elementwise operation becomes a kernel.
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

namespace stagewright::device {

/// Marks a contraction on tensors whose users form an epilogue, and merges
/// these to one operation right after it. Returns that operation, or null.
mlir::linalg::GenericOp findEpilogue(mlir::linalg::ContractOp product);

/// On buffers: removes the marks if the library cannot do the epilogue.
void checkEpilogues(mlir::Block &body);

/// On buffers: whether the call is one matrix product with C in row-major
/// order.
bool isOneProduct(mlir::linalg::ContractOp op);

/// The number of the epilogue called `name`.
int32_t epilogueOf(llvm::StringRef name);

/// The buffers of such an operation that the call gets.
struct EpilogueOperands {
  mlir::Value result, bias, aux;
};
EpilogueOperands operandsOf(mlir::linalg::GenericOp op);

} // namespace stagewright::device

#endif // STAGEWRIGHT_CONVERSION_RANKTODEVICE_EPILOGUES_H
