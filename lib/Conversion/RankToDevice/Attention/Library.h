//===- Library.h - attention that the library supports ----------*- C++ -*-===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Selects the attention that becomes one call of the runtime
// (stagewright-rt/device.h) instead of our kernels: that on 16-bit types, which
// the library multiplies on tensor cores, in layouts that the library accepts.
//
//===----------------------------------------------------------------------===//

#ifndef STAGEWRIGHT_LIB_CONVERSION_RANKTODEVICE_ATTENTION_LIBRARY_H
#define STAGEWRIGHT_LIB_CONVERSION_RANKTODEVICE_ATTENTION_LIBRARY_H

#include "stagewright/Dialect/Pipeline/IR/Attention.h"

namespace stagewright::device {

/// Attribute of attention that becomes a library call, and of no other
/// operation.
constexpr llvm::StringLiteral kLibrary = "library";

/// 16-bit elements in 16 bytes; rows begin at multiples of that.
constexpr int64_t kUnit = 8;

/// Batch dimensions of attention as the library knows them; -1 for none.
struct LibraryHeads {
  int batch = -1; ///< indexes all operands, but not every mask
  int head = -1;  ///< the same: the heads of keys and values
  int group = -1; ///< does not index keys: the heads that share a head of keys

  /// None if there are more batch dimensions, or if they are in another order.
  static std::optional<LibraryHeads> get(const pipeline::Attention &attention);
};

/// Whether the library supports `attention`, an operation on tensors.
bool isForLibrary(const pipeline::Attention &attention);

/// The mask as a bias, which the library adds to scores, and its indexing map
/// in `map`. The dimensions of the bias are batch, if the mask has it; both
/// dimensions of heads, if the mask differs between heads; query and key.
/// Returns the mask itself if it has that form.
mlir::Value makeBias(mlir::OpBuilder &builder,
                     const pipeline::Attention &attention,
                     mlir::AffineMap &map);

} // namespace stagewright::device

#endif // STAGEWRIGHT_LIB_CONVERSION_RANKTODEVICE_ATTENTION_LIBRARY_H
