//===- Library.h - attention that the device's library takes ----*- C++ -*-===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Where attention becomes one call of the runtime (stagewright-rt/device.h)
// instead of our kernels: 16-bit types, which the library multiplies by tensor
// cores, in layouts that it reads.
//
//===----------------------------------------------------------------------===//

#ifndef STAGEWRIGHT_LIB_CONVERSION_RANKTODEVICE_ATTENTION_LIBRARY_H
#define STAGEWRIGHT_LIB_CONVERSION_RANKTODEVICE_ATTENTION_LIBRARY_H

#include "stagewright/Dialect/Pipeline/IR/Attention.h"

namespace stagewright::device {

/// Attribute of attention that becomes a call.
constexpr llvm::StringLiteral kLibrary = "device.library";

/// Elements of 16 bits in 16 bytes, at multiples of which rows begin.
constexpr int64_t kUnit = 8;

/// Batch dimensions of attention as the library knows them; -1 for none.
struct LibraryHeads {
  int batch = -1; ///< of everything
  int head = -1;  ///< of keys and values too
  int group = -1; ///< of queries that share a head of keys

  /// Nothing if there are more, or they stand in another order.
  static std::optional<LibraryHeads> get(const pipeline::Attention &attention);
};

/// Whether the library takes `attention`, on tensors.
bool isForLibrary(const pipeline::Attention &attention);

/// The mask of attention that the library takes as numbers that are added to
/// its scores, with dimensions batch and head where the mask has them, query
/// and key, by `map`; the mask itself if it is that.
mlir::Value makeBias(mlir::OpBuilder &builder,
                     const pipeline::Attention &attention,
                     mlir::AffineMap &map);

} // namespace stagewright::device

#endif // STAGEWRIGHT_LIB_CONVERSION_RANKTODEVICE_ATTENTION_LIBRARY_H
