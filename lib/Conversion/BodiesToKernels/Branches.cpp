//===- Branches.cpp - results of scf.if as buffers ------------------------===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Branches.h"
#include "mlir/Dialect/Bufferization/IR/Bufferization.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "stagewright/Conversion/BodiesToKernels/TensorUtils.h"
#include "stagewright/Dialect/LLVM.h"

namespace stagewright::bodies {

/// The tensor into which `value` is written, if `value` is that tensor with
/// some elements changed; else null.
static Value destinationOf(Value value) {
  auto result = dyn_cast<OpResult>(value);
  OpOperand *destination = result ? findDestination(result) : nullptr;
  return destination ? destination->get() : Value();
}

/// Whether `value` is `tensor`, or `tensor` with some elements changed.
static bool updates(Value value, Value tensor) {
  while (value && value != tensor)
    value = destinationOf(value);
  return bool(value);
}

/// Whether `choice` may overwrite `tensor`: it was written before, or a loop
/// carries it, and nothing else needs it afterwards.
static bool mayOverwrite(scf::IfOp choice, Value tensor) {
  Block *block = choice->getBlock();
  bool isCarried = isa<BlockArgument>(tensor) &&
                   isa<scf::ForOp, scf::WhileOp>(block->getParentOp());
  if (tensor.getParentBlock() != block ||
      !(isCarried ||
        isa_and_nonnull<DestinationStyleOpInterface, tensor::InsertSliceOp,
                        scf::ForOp, scf::IfOp>(tensor.getDefiningOp())))
    return false;
  return llvm::all_of(tensor.getUses(), [&](OpOperand &use) {
    Operation *user = use.getOwner();
    auto op = dyn_cast<DestinationStyleOpInterface>(user);
    bool readBefore = op && op.isDpsInput(&use) && op->getBlock() == block &&
                      op->isBeforeInBlock(choice);
    return readBefore || choice->isProperAncestor(user);
  });
}

/// The tensor from outside that one branch yields as it is and the other one
/// with some elements changed; null if there is none.
static Value updatedTensor(scf::IfOp choice, unsigned result) {
  Value first = choice.thenYield().getOperand(result);
  Value second = choice.elseYield().getOperand(result);
  for (auto [same, changed] : {std::pair(first, second), {second, first}})
    if (isa<RankedTensorType>(same.getType()) && same != changed &&
        !choice->isAncestor(same.getParentBlock()->getParentOp()) &&
        updates(changed, same))
      return same;
  return {};
}

void updateBranchesInPlace(func::FuncOp body) {
  body.walk<WalkOrder::PreOrder>([](scf::IfOp choice) {
    for (unsigned i = 0; i < choice.getNumResults(); ++i) {
      Value tensor = updatedTensor(choice, i);
      if (!tensor || mayOverwrite(choice, tensor))
        continue;
      OpBuilder builder(choice);
      Value copy = bufferization::AllocTensorOp::create(
          builder, choice.getLoc(), cast<RankedTensorType>(tensor.getType()),
          ValueRange(), tensor);
      tensor.replaceUsesWithIf(copy, [&](OpOperand &use) {
        return choice->isProperAncestor(use.getOwner());
      });
    }
  });
}

/// Whether `value` is a slice, or will be written into the buffer of one.
static bool isInSlice(Value value) {
  while (value && !value.getDefiningOp<tensor::ExtractSliceOp>())
    value = destinationOf(value);
  return bool(value);
}

void copyYieldedSlices(func::FuncOp body) {
  body.walk([](scf::IfOp choice) {
    if (choice.getNumResults() == 0)
      return;
    for (scf::YieldOp yield : {choice.thenYield(), choice.elseYield()})
      for (OpOperand &operand : yield->getOpOperands()) {
        auto type = dyn_cast<RankedTensorType>(operand.get().getType());
        if (!type || !isInSlice(operand.get()))
          continue;
        OpBuilder builder(yield);
        operand.set(bufferization::AllocTensorOp::create(
            builder, yield.getLoc(), type, ValueRange(), operand.get()));
      }
  });
}

} // namespace stagewright::bodies
