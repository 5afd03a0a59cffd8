//===- CollectiveOps.cpp - sums over ranks --------------------------------===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Verifiers. The labels are those of the constraints in RankCollectiveOps.td.
//
//===----------------------------------------------------------------------===//

#include "stagewright/Dialect/Rank/IR/Rank.h"

using namespace mlir;
using namespace stagewright::rank;

LogicalResult CollectiveOp::verify() {
  ArrayRef<int64_t> ranks = getRanks();
  bool increase =
      std::adjacent_find(ranks.begin(), ranks.end(),
                         std::greater_equal<int64_t>()) == ranks.end();
  if (ranks.size() < 2 || ranks.front() < 0 || !increase) // collective_c1
    return emitOpError() << "needs two ranks or more in increasing order, got ["
                         << ranks << "]";
  MemRefType type = getType();
  Type element = type.getElementType();
  bool sums =
      isa<FloatType>(element) || (element.isInteger() && !element.isInteger(1));
  if (type.getRank() != 1 || !sums) // collective_c2
    return emitOpError() << "sums a vector of floats or integers, got " << type;
  return success();
}

/// Checks that the collective of `op` exists and includes this rank.
template <typename OpT>
static FailureOr<CollectiveOp> findCollective(OpT op,
                                              SymbolTableCollection &symbols) {
  auto collective =
      symbols.lookupNearestSymbolFrom<CollectiveOp>(op, op.getCollectiveAttr());
  if (!collective)
    return op.emitOpError() << op.getCollectiveAttr() << " is not a collective";
  auto program = op->template getParentOfType<ProgramOp>();
  if (!program)
    return op.emitOpError() << "must lie in a 'rank.program'";
  if (llvm::is_contained(collective.getRanks(), int64_t(program.getRank())))
    return collective;
  return (op.emitOpError() << "stands on rank " << program.getRank()
                           << ", which is not among the collective's ranks")
             .attachNote(collective.getLoc())
         << "the collective stands here";
}

LogicalResult AllReduceOp::verify() {
  if (bool(getMicrobatch()) == bool(getLast())) // all_reduce_c3
    return success();
  return emitOpError() << "needs the last microbatch beside the one at hand";
}

LogicalResult AllReduceOp::verifySymbolUses(SymbolTableCollection &symbols) {
  FailureOr<CollectiveOp> collective =
      findCollective(*this, symbols); // all_reduce_c1
  if (failed(collective))
    return failure();
  Type element = collective->getType().getElementType();
  int64_t bytes = 0;
  Operation *before = nullptr;
  for (Value value : getBuffers()) { // all_reduce_c2
    auto buffer = value.getDefiningOp<BufferOp>();
    if (!buffer)
      return emitOpError() << "needs buffers that 'rank.buffer' declares";
    if (buffer.getKind() != BufferKind::Gradient &&
        buffer.getKind() != BufferKind::Accumulator)
      return emitOpError() << "sums gradients and accumulators, got '"
                           << buffer.getBufferName() << "' of kind '"
                           << stringifyBufferKind(buffer.getKind()) << "'";
    if (buffer.getType().getElementType() != element)
      return emitOpError() << "sums elements of type " << element << ", got '"
                           << buffer.getBufferName() << "' of type "
                           << buffer.getType();
    if (before && before->getNextNode() != buffer)
      return emitOpError() << "needs buffers that are declared one after the "
                           << "other, but '" << buffer.getBufferName()
                           << "' is not behind the one before it";
    before = buffer;
    bytes += getSlotStride(buffer.getType());
  }
  int64_t expected = getSlotBytes(collective->getType());
  if (bytes == expected)
    return success();
  return (emitOpError() << "has " << bytes
                        << " bytes in its buffers, a bucket of the collective "
                        << "has " << expected)
             .attachNote(collective->getLoc())
         << "the collective stands here";
}

LogicalResult AwaitReducedOp::verifySymbolUses(SymbolTableCollection &symbols) {
  return findCollective(*this, symbols); // await_reduced_c1
}
