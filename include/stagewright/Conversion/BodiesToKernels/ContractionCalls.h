//===- ContractionCalls.h - products as calls of libraries ------*- C++ -*-===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The calls that compute a `rank.contract`: descriptors take strides, so
// transposes and slices cost nothing. Loops that do not fit a descriptor become
// loops around the call. On the host these are calls of the runtime; on a
// device the same matrix products are calls of the device's library.
//
//===----------------------------------------------------------------------===//

#ifndef STAGEWRIGHT_CONVERSION_BODIESTOKERNELS_CONTRACTIONCALLS_H
#define STAGEWRIGHT_CONVERSION_BODIESTOKERNELS_CONTRACTIONCALLS_H

#include "stagewright-rt/runtime.h"
#include "stagewright/Dialect/Rank/IR/Rank.h"
#include <variant>

namespace stagewright::bodies {

/// The descriptor of one call. Its `dtype` is not set.
using ContractionDesc = std::variant<sw_gemm_desc, sw_convolution_desc>;

/// Creates a call, given the addresses of the first elements of A, B and C.
using EmitCall = llvm::function_ref<void(
    mlir::OpBuilder &, const ContractionDesc &, llvm::ArrayRef<mlir::Value>)>;

/// A pointer to the first element of `buffer`.
mlir::Value addressOf(mlir::OpBuilder &builder, mlir::Value buffer);

/// Replaces `op`, on buffers, by calls. Fails if a stride is not constant.
mlir::LogicalResult lowerToCalls(rank::ContractOp op, EmitCall emit);

} // namespace stagewright::bodies

#endif // STAGEWRIGHT_CONVERSION_BODIESTOKERNELS_CONTRACTIONCALLS_H
