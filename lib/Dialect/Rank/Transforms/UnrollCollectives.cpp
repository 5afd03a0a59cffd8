//===- UnrollCollectives.cpp - sums and gathers in progress ---------------===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Unroller.h"

namespace stagewright::rank {

void Unroller::visitReduce(AllReduceOp reduce) {
  if (reduce.getLast() &&
      value(reduce.getMicrobatch()) != value(reduce.getLast()))
    return;
  for (Value buffer : reduce.getBuffers())
    summed[buffer] = reduce.getCollective();
  add(EventKind::Reduce, reduce, sums.lookup(reduce.getCollective()), {});
}

/// Records the beginning of a gather, whose slot must be held. A gather has one
/// buffer on each rank, since artifacts name only one.
LogicalResult Unroller::visitGather(AllGatherOp gather) {
  StringRef name = gather.getCollective();
  Value buffer = gather.getBuffer();
  if (gathering.try_emplace(name, buffer).first->second != buffer ||
      gatherOf.try_emplace(buffer, name).first->second != name)
    return gather.emitOpError()
           << "gathers '" << name << "' in buffer '"
           << buffer.getDefiningOp<BufferOp>().getBufferName()
           << "'; expected the same buffer for all microbatches of a gather, "
           << "and another buffer for each gather";
  gathered.insert({buffer, value(gather.getMicrobatch())});
  add(EventKind::Use, gather, stashes.lookup(buffer), gather.getMicrobatch());
  add(EventKind::Reduce, gather, sums.lookup(name), gather.getMicrobatch());
  return success();
}

/// Checks that `use`, which is `op` itself or makes an operand of it, does not
/// acquire, read or release a slot of a gather in progress.
LogicalResult Unroller::checkGathered(Operation &op, Operation *use) {
  if (!isa_and_nonnull<AcquireOp, SlotOp, ReleaseOp>(use) ||
      use->getNumOperands() < 2)
    return success();
  Value buffer = use->getOperand(0);
  int64_t m = value(use->getOperand(1));
  if (!gathered.contains({buffer, m}))
    return success();
  return op.emitOpError() << "uses microbatch " << m << " of buffer '"
                          << buffer.getDefiningOp<BufferOp>().getBufferName()
                          << "' while its gather is under way; await it first";
}

/// Checks `op` and the operations that make its operands.
LogicalResult Unroller::checkGathered(Operation &op) {
  if (gathered.empty() || isa<PartOp>(op))
    return success();
  if (failed(checkGathered(op, &op)))
    return failure();
  for (Value operand : op.getOperands()) {
    while (auto part = operand.getDefiningOp<PartOp>())
      operand = part.getSlot();
    if (failed(checkGathered(op, operand.getDefiningOp())))
      return failure();
  }
  return success();
}

/// Checks that `op` uses no buffer of a sum in progress.
LogicalResult Unroller::checkSummed(Operation &op) {
  if (summed.empty())
    return success();
  for (Value operand : op.getOperands())
    if (auto slot = operand.getDefiningOp<SlotOp>()) {
      auto sum = summed.find(slot.getBuffer());
      if (sum == summed.end())
        continue;
      return op.emitOpError()
             << "uses buffer '" << slot.getBufferOp().getBufferName()
             << "' while the sum '" << sum->second
             << "' is under way; await it first";
    }
  return success();
}

} // namespace stagewright::rank
