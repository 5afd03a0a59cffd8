//===- WriteAttention.cpp - which kernel of attention ---------------------===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "WriteParts.h"

using namespace mlir;

namespace stagewright::device {

LogicalResult writeAttention(ThreadWriter &writer, func::FuncOp kernel) {
  for (Operation &op : kernel.front()) {
    std::optional<pipeline::Attention> attention =
        pipeline::Attention::get(&op);
    if (!attention)
      continue;
    if (isa<pipeline::AttentionOp>(op))
      return writeForward(writer, *attention);
    return isa<pipeline::AttentionQueryGradientOp>(op)
               ? writeQueryGradient(writer, *attention)
               : writeKeyGradient(writer, *attention);
  }
  return failure();
}

} // namespace stagewright::device
