//===- Epilogues.h - what the library does to a product it stores -*- C++
//-*-===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A contraction and the elementwise operation that its call does as well stand
// side by side, both with `host.epilogue`, its name in sw_epilogue. What each
// means is unchanged, so where memory turns out otherwise than the library
// needs it, they lose the mark and the operation is a kernel.
//
//   bias, bias_gelu   ins(row)    outs(product)
//   gelu              ins()       outs(product)
//   gelu_aux          ins(product)  outs(result)
//   bias_gelu_aux     ins(row)    outs(result, product), the second: its sum
//   dgelu             ins(aux)    outs(product)
//   add               ins(array)  outs(product)
//
//===----------------------------------------------------------------------===//

#ifndef STAGEWRIGHT_CONVERSION_RANKTODEVICE_EPILOGUES_H
#define STAGEWRIGHT_CONVERSION_RANKTODEVICE_EPILOGUES_H

#include "mlir/Dialect/Linalg/IR/Linalg.h"

namespace stagewright::device {

/// Marks a contraction, on tensors, whose users are an epilogue; these become
/// the one operation behind it. Returns that, or null.
mlir::linalg::GenericOp findEpilogue(mlir::linalg::ContractOp product);

/// On buffers: takes the marks away where the library cannot do it.
void checkEpilogues(mlir::Block &body);

/// On buffers: whether the call is one product of matrices, that of C row by
/// row.
bool isOneProduct(mlir::linalg::ContractOp op);

/// Number of an epilogue by its name.
int32_t epilogueOf(llvm::StringRef name);

/// What the call is given, of the buffers of such an operation.
struct EpilogueOperands {
  mlir::Value result, bias, aux;
};
EpilogueOperands operandsOf(mlir::linalg::GenericOp op);

} // namespace stagewright::device

#endif // STAGEWRIGHT_CONVERSION_RANKTODEVICE_EPILOGUES_H
