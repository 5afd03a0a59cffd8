//===- WriteAttention.cpp - choose the kernel of attention ----------------===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "WriteParts.h"

namespace stagewright::device {

static LogicalResult write(ThreadWriter &writer, func::FuncOp kernel,
                           MakeTiles make) {
  for (Operation &op : kernel.front()) {
    std::optional<pipeline::Attention> attention =
        pipeline::Attention::get(&op);
    if (!attention)
      continue;
    if (isa<pipeline::AttentionOp>(op))
      return writeForward(writer, *attention, make);
    return isa<pipeline::AttentionQueryGradientOp>(op)
               ? writeQueryGradient(writer, *attention, make)
               : writeKeyGradient(writer, *attention, make);
  }
  return failure();
}

LogicalResult writeTensorAttention(ThreadWriter &writer, func::FuncOp kernel) {
  return write(writer, kernel, makeTensorTiles);
}

LogicalResult writeAttention(ThreadWriter &writer, func::FuncOp kernel) {
  return write(writer, kernel, makeThreadTiles);
}

} // namespace stagewright::device
