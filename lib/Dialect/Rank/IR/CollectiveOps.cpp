//===- CollectiveOps.cpp - sums and gathers over ranks --------------------===//
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

namespace stagewright::rank {

static LogicalResult verifyRanks(Operation *op, ArrayRef<int64_t> ranks) {
  bool increase =
      std::adjacent_find(ranks.begin(), ranks.end(),
                         std::greater_equal<int64_t>()) == ranks.end();
  if (ranks.size() >= 2 && ranks.front() >= 0 && increase)
    return success();
  return op->emitOpError()
         << "needs two or more ranks, each 0 or more, in increasing "
            "order, got ["
         << ranks << "]";
}

/// Whether `type` is contiguous host or device memory of known size, whose
/// elements have whole bytes and can be added.
static bool isOfNumbers(MemRefType type) {
  Type element = type.getElementType();
  return type.hasStaticShape() && type.getLayout().isIdentity() &&
         !type.getMemorySpace() && element.isIntOrFloat() &&
         element.getIntOrFloatBitWidth() % 8 == 0;
}

LogicalResult CollectiveOp::verify() {
  if (failed(verifyRanks(*this, getRanks()))) // collective_c1
    return failure();
  MemRefType type = getType();
  if (type.getRank() != 1 || !isOfNumbers(type)) // collective_c2
    return emitOpError()
           << "sums a contiguous vector of known length, of floats or "
           << "integers, got " << type;
  return success();
}

/// Checks that the sum or gather of `op` exists and includes this rank.
template <typename OpT, typename CollectiveT = CollectiveOp>
static FailureOr<CollectiveT> findCollective(OpT op,
                                             SymbolTableCollection &symbols) {
  auto collective =
      symbols.lookupNearestSymbolFrom<CollectiveT>(op, op.getCollectiveAttr());
  if (!collective)
    return op.emitOpError()
           << op.getCollectiveAttr() << " is not a "
           << (std::is_same_v<CollectiveT, GatherOp> ? "gather" : "collective");
  auto program = op->template getParentOfType<ProgramOp>();
  if (!program)
    return op.emitOpError() << "must lie in a 'rank.program'";
  if (llvm::is_contained(collective.getRanks(), int64_t(program.getRank())))
    return collective;
  return (op.emitOpError() << "stands on rank " << program.getRank()
                           << ", which is not among the collective's ranks")
             .attachNote(collective.getLoc())
         << "the collective is declared here";
}

LogicalResult AllReduceOp::verify() {
  if (bool(getMicrobatch()) == bool(getLast())) // all_reduce_c3
    return success();
  return emitOpError() << "needs both a microbatch and the last microbatch, "
                          "got only one of them";
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
                           << "' does not follow the one before it";
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
         << "the collective is declared here";
}

LogicalResult AwaitReducedOp::verifySymbolUses(SymbolTableCollection &symbols) {
  return findCollective(*this, symbols); // await_reduced_c1
}

//===----------------------------------------------------------------------===//
// Gathers
//===----------------------------------------------------------------------===//

LogicalResult GatherOp::verify() {
  if (failed(verifyRanks(*this, getRanks()))) // gather_c1
    return failure();
  if (getDepth() < 1) // gather_c2
    return emitOpError() << "needs a positive depth, got " << getDepth();
  MemRefType type = getType();
  if (!isOfNumbers(type) || type.getNumElements() == 0 ||
      getSlotBytes(type) % RankDialect::kAlignment != 0) // gather_c3
    return emitOpError() << "needs a contiguous part of known shape with a "
                         << "multiple of " << RankDialect::kAlignment
                         << " bytes, of floats or integers, got " << type;
  return success();
}

MemRefType GatherOp::getSlotType() {
  int64_t parts = int64_t(getRanks().size()) * (getExchange() ? 2 : 1);
  SmallVector<int64_t> shape = {parts};
  llvm::append_range(shape, getType().getShape());
  return MemRefType::get(shape, getType().getElementType());
}

LogicalResult AllGatherOp::verifySymbolUses(SymbolTableCollection &symbols) {
  FailureOr<GatherOp> gather =
      findCollective<AllGatherOp, GatherOp>(*this, symbols); // all_gather_c1
  if (failed(gather))
    return failure();
  auto buffer = getBuffer().getDefiningOp<BufferOp>();
  if (buffer && buffer.getKind() == BufferKind::Stash && !buffer.getOnHost() &&
      buffer.getDepth() == gather->getDepth() &&
      buffer.getType() == gather->getSlotType()) // all_gather_c2
    return success();
  return (emitOpError() << "needs a stash on the device of depth "
                        << gather->getDepth() << " and type "
                        << gather->getSlotType())
             .attachNote(gather->getLoc())
         << "the gather is declared here";
}

LogicalResult
AwaitGatheredOp::verifySymbolUses(SymbolTableCollection &symbols) {
  return findCollective<AwaitGatheredOp, GatherOp>(
      *this, symbols); // await_gathered_c1
}

LogicalResult PartOp::verify() {
  MemRefType slot = getSlot().getType(), part = getPart().getType();
  if (slot.getRank() == part.getRank() + 1 &&
      slot.getElementType() == part.getElementType() &&
      slot.getShape().drop_front() == part.getShape() && getNumber() >= 0 &&
      int64_t(getNumber()) < slot.getShape().front()) // part_c1
    return success();
  return emitOpError() << "has no part " << getNumber() << " of type " << part
                       << " in a slot of type " << slot;
}

//===----------------------------------------------------------------------===//
// Averages
//===----------------------------------------------------------------------===//

/// Checks average_c2: a buffer of state with type `type`.
static LogicalResult verifyState(AverageOp op, Value value, Type type,
                                 StringRef what) {
  auto buffer = value.getDefiningOp<BufferOp>();
  if (buffer && buffer.getKind() == BufferKind::State &&
      buffer.getType() == type)
    return success();
  auto error = op.emitOpError()
               << "needs " << what << " in state of type " << type << ", got ";
  if (!buffer)
    return error << "no buffer";
  return error << "'" << buffer.getBufferName() << "' of kind '"
               << stringifyBufferKind(buffer.getKind()) << "' and type "
               << buffer.getType();
}

LogicalResult AverageOp::verify() {
  double xi = getXi().convertToDouble();
  double weight = getWeight().convertToDouble();
  if (getEvery() < 1 || getDelay() < 0 || getDelay() > getEvery() ||
      getTurns() < 1) // average_c3
    return emitOpError() << "needs 'every' and 'turns' of at least 1 and "
                            "'delay' from 0 to 'every', got every "
                         << getEvery() << ", delay " << getDelay() << ", turns "
                         << getTurns();
  if (!(xi >= 0 && xi <= 1) || !(weight > 0 && weight <= 1)) // average_c3
    return emitOpError() << "needs xi from 0 to 1 and a weight above 0 and at "
                         << "most 1, got " << xi << " and " << weight;
  bool needs = getCorrected() && getDelay() > 0;
  if (needs != bool(getSnapshot())) // average_c4
    return emitOpError() << (needs ? "is corrected and delayed and needs a "
                                     "snapshot"
                                   : "has a snapshot, which it needs only if "
                                     "it is corrected and delayed");
  return success();
}

LogicalResult AverageOp::verifySymbolUses(SymbolTableCollection &symbols) {
  FailureOr<CollectiveOp> collective =
      findCollective(*this, symbols); // average_c1
  if (failed(collective))
    return failure();
  MemRefType type = collective->getType();
  auto number = MemRefType::get({1}, IntegerType::get(getContext(), 64));
  if (failed(verifyState(*this, getStep(), number, "the count of steps")) ||
      failed(verifyState(*this, getSum(), type, "its sum")) ||
      (getSnapshot() &&
       failed(verifyState(*this, getSnapshot(), type, "its snapshot"))))
    return failure();
  int64_t bytes = 0;
  for (Value value : getParameters()) { // average_c2
    auto buffer = value.getDefiningOp<BufferOp>();
    if (!buffer || buffer.getKind() != BufferKind::Parameter ||
        buffer.getType().getElementType() != type.getElementType())
      return emitOpError() << "averages parameters of " << type.getElementType()
                           << ", got "
                           << (buffer ? buffer.getBufferName() : "no buffer");
    bytes += getSlotStride(buffer.getType());
  }
  if (bytes == getSlotBytes(type))
    return success();
  return emitOpError() << "has parameters of " << bytes
                       << " bytes, the collective has " << getSlotBytes(type);
}

} // namespace stagewright::rank
