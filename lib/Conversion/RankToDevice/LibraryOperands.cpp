//===- LibraryOperands.cpp - addresses that libraries accept --------------===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "LibraryOperands.h"
#include "Attention/Library.h"
#include "Scalars.h"
#include "mlir/Dialect/Linalg/Utils/Utils.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "stagewright/Conversion/BodiesToKernels/Passes.h"
#include "stagewright/Dialect/Pipeline/IR/Attention.h"
#include "stagewright/Dialect/Rank/IR/Rank.h"
#include "llvm/Support/MathExtras.h"

namespace stagewright::device {

namespace {

/// Bytes to which the operands of attention and convolutions are aligned: the
/// default of cuDNN's tensor descriptors (see stagewright-rt/device.h).
constexpr int64_t kGraphAlignment = 16;

bool isCall(Operation &op) {
  return isa<rank::ContractOp, rank::ConvolveOp>(op) ||
         (pipeline::Attention::get(&op) && op.hasAttr(kLibrary));
}

/// Whether the call `op` accepts `view` where it is. Products accept any
/// alignment; buffers begin at multiples of kAlignment.
bool accepts(Operation &op, Value view) {
  if (movesAtRunTime(view))
    return false;
  auto type = cast<MemRefType>(view.getType());
  int64_t bytes = llvm::divideCeil(type.getElementTypeBitWidth(), 8);
  int64_t offset = type.getStridesAndOffset().second * bytes;
  return isa<rank::ContractOp>(op) || offset % kGraphAlignment == 0;
}

} // namespace

void copyLibraryOperands(Block &body) {
  for (Operation &op : llvm::make_early_inc_range(body)) {
    if (!isCall(op))
      continue;
    auto styled = cast<DestinationStyleOpInterface>(op);
    auto product = dyn_cast<rank::ContractOp>(op);
    bool adds = product && !product.overwrites();
    OpBuilder before(&op), after(&body, std::next(op.getIterator()));
    for (OpOperand &operand : op.getOpOperands()) {
      Value value = operand.get();
      auto type = dyn_cast<MemRefType>(value.getType());
      if (!type || accepts(op, value))
        continue;
      Value copy = memref::AllocOp::create(
          before, op.getLoc(),
          MemRefType::get(type.getShape(), type.getElementType()));
      if (adds || styled.isDpsInput(&operand))
        linalg::makeMemRefCopyOp(before, op.getLoc(), value, copy);
      if (styled.isDpsInit(&operand))
        linalg::makeMemRefCopyOp(after, op.getLoc(), copy, value);
      operand.set(copy);
    }
  }
}

} // namespace stagewright::device
