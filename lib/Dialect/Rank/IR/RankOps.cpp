//===- RankOps.cpp - verifiers of memory, transfers and calls -------------===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Verifiers of the operations inside an entry. Labels such as slot_c1 are those
// of the constraints in RankMemoryOps.td, RankTransferOps.td and RankWorkOps.td
// and of their tests.
//
//===----------------------------------------------------------------------===//

#include "mlir/IR/Builders.h"
#include "stagewright/Dialect/Rank/IR/Rank.h"

namespace stagewright::rank {

//===----------------------------------------------------------------------===//
// Memory
//===----------------------------------------------------------------------===//

BufferOp SlotOp::getBufferOp() { return getBuffer().getDefiningOp<BufferOp>(); }
BufferOp AcquireOp::getBufferOp() {
  return getBuffer().getDefiningOp<BufferOp>();
}
BufferOp ReleaseOp::getBufferOp() {
  return getBuffer().getDefiningOp<BufferOp>();
}
BufferOp FetchedOp::getBufferOp() {
  return getBuffer().getDefiningOp<BufferOp>();
}
BufferOp ViewOp::getBufferOp() {
  return getWorkspace().getDefiningOp<BufferOp>();
}

/// Checks that `buffer` is not null: it is null if the operand is a block
/// argument.
static LogicalResult verifyDeclared(Operation *op, BufferOp buffer) {
  if (buffer)
    return success();
  return op->emitOpError() << "needs a buffer that 'rank.buffer' declares";
}

static LogicalResult verifyType(Operation *op, StringRef what, Type expected,
                                Type got) {
  if (expected == got)
    return success();
  return op->emitOpError() << what << " has slots of type " << expected
                           << ", got " << got;
}

/// Checks that `buffer` is a stash, on the host if `onHost`, else on the
/// device.
static LogicalResult verifyStash(Operation *op, BufferOp buffer,
                                 bool onHost = false) {
  if (failed(verifyDeclared(op, buffer)))
    return failure();
  if (buffer.getKind() != BufferKind::Stash)
    return op->emitOpError() << "works on a stash, got a buffer of kind '"
                             << stringifyBufferKind(buffer.getKind()) << "'";
  if (buffer.getOnHost() == onHost)
    return success();
  return op->emitOpError() << "needs a stash on the "
                           << (onHost ? "host" : "device") << ", but '"
                           << buffer.getBufferName() << "' lies on the "
                           << (onHost ? "device" : "host");
}

LogicalResult SlotOp::verify() {
  BufferOp buffer = getBufferOp();
  if (failed(verifyDeclared(*this, buffer)) ||
      failed(verifyType(*this, "buffer", buffer.getType(), // slot_c1
                        getSlot().getType())))
    return failure();
  if (buffer.getKind() == BufferKind::Workspace) // slot_c3
    return emitOpError() << "cannot take a slot of a workspace, use "
                         << "'rank.view'";
  if (buffer.getOnHost()) // slot_c3
    return verifyStash(*this, buffer);
  if (buffer.isPerMicrobatch() != bool(getMicrobatch())) // slot_c2
    return emitOpError() << "of a buffer of kind '"
                         << stringifyBufferKind(buffer.getKind()) << "' "
                         << (getMicrobatch() ? "has no" : "needs a")
                         << " microbatch";
  return success();
}

LogicalResult AcquireOp::verify() {
  if (failed(verifyStash(*this, getBufferOp()))) // acquire_c1
    return failure();
  return verifyType(*this, "buffer", getBufferOp().getType(),
                    getSlot().getType());
}

LogicalResult ReleaseOp::verify() {
  return verifyStash(*this, getBufferOp()); // release_c1
}

template <typename OpT> static LogicalResult verifyCopy(OpT op, bool toHost) {
  auto source = op.getSource().template getDefiningOp<BufferOp>();
  auto target = op.getTarget().template getDefiningOp<BufferOp>();
  if (failed(verifyStash(op, source, !toHost)) ||
      failed(verifyStash(op, target, toHost)))
    return failure();
  return verifyType(op, "source", source.getType(), target.getType());
}

LogicalResult OffloadOp::verify() {
  return verifyCopy(*this, /*toHost=*/true); // offload_c1
}

LogicalResult FetchOp::verify() {
  return verifyCopy(*this, /*toHost=*/false); // fetch_c1
}

LogicalResult FetchedOp::verify() {
  if (failed(verifyStash(*this, getBufferOp()))) // fetched_c1
    return failure();
  return verifyType(*this, "buffer", getBufferOp().getType(),
                    getSlot().getType());
}

LogicalResult ViewOp::verify() {
  BufferOp buffer = getBufferOp();
  if (failed(verifyDeclared(*this, buffer)))
    return failure();
  if (buffer.getKind() != BufferKind::Workspace) // view_c1
    return emitOpError() << "needs a workspace, got a buffer of kind '"
                         << stringifyBufferKind(buffer.getKind()) << "'";
  int64_t end = getOffset() + getSlotBytes(getValue().getType());
  int64_t size = buffer.getType().getNumElements();
  if (getOffset() < 0 || getOffset() % RankDialect::kAlignment) // view_c2
    return emitOpError() << "offset must be a multiple of "
                         << RankDialect::kAlignment << ", got " << getOffset();
  if (end > size) // view_c2
    return emitOpError() << "ends at byte " << end << " of a workspace of "
                         << size;
  return success();
}

MemRefType RebaseOp::typeFor(MemRefType type) {
  auto [strides, offset] = type.getStridesAndOffset();
  auto plain =
      MemRefType::get(type.getShape(), type.getElementType(),
                      MemRefLayoutAttrInterface(), type.getMemorySpace());
  if (plain.getStridesAndOffset().first == strides)
    return plain;
  return MemRefType::get(
      type.getShape(), type.getElementType(),
      StridedLayoutAttr::get(type.getContext(), /*offset=*/0, strides),
      type.getMemorySpace());
}

void RebaseOp::build(OpBuilder &builder, OperationState &state, Value source) {
  build(builder, state, typeFor(cast<MemRefType>(source.getType())), source);
}

Value RebaseOp::getViewSource() { return getSource(); }

LogicalResult RebaseOp::verify() {
  auto type = cast<MemRefType>(getSource().getType());
  SmallVector<int64_t> strides;
  int64_t offset;
  if (failed(type.getStridesAndOffset(strides, offset)) ||
      ShapedType::isDynamic(offset))
    return emitOpError() << "needs a view with a static offset, got " << type;
  auto result = cast<MemRefType>(getType());
  SmallVector<int64_t> got;
  int64_t start;
  if (failed(result.getStridesAndOffset(got, start)) ||
      result.getShape() != type.getShape() ||
      result.getElementType() != type.getElementType() || got != strides ||
      start != 0 || result.getMemorySpace() != type.getMemorySpace())
    return emitOpError() << "result must be " << typeFor(type) << ", got "
                         << result;
  return success();
}

//===----------------------------------------------------------------------===//
// Transfers
//===----------------------------------------------------------------------===//

/// Checks that the channel of `op` exists, that this rank is its sender
/// (receiver), and that `slot` has its type.
template <typename OpT>
static LogicalResult verifyTransfer(OpT op, SymbolTableCollection &symbols,
                                    bool sends, Type slot = {}) {
  auto channel =
      symbols.lookupNearestSymbolFrom<ChannelOp>(op, op.getChannelAttr());
  if (!channel)
    return op.emitOpError() << op.getChannelAttr() << " is not a channel";
  auto program = op->template getParentOfType<ProgramOp>();
  if (!program)
    return op.emitOpError() << "must lie in a 'rank.program'";
  int64_t end = sends ? channel.getFrom() : channel.getTo();
  if (program.getRank() != end)
    return (op.emitOpError()
            << "stands on rank " << program.getRank() << " but the channel "
            << (sends ? "begins" : "ends") << " at rank " << end)
               .attachNote(channel.getLoc())
           << "the channel is declared here";
  return slot ? verifyType(op, "channel", channel.getType(), slot) : success();
}

LogicalResult ClaimOp::verifySymbolUses(SymbolTableCollection &symbols) {
  return verifyTransfer(*this, symbols, true, getSlot().getType());
}
LogicalResult SendOp::verifySymbolUses(SymbolTableCollection &symbols) {
  return verifyTransfer(*this, symbols, true);
}
LogicalResult RecvOp::verifySymbolUses(SymbolTableCollection &symbols) {
  return verifyTransfer(*this, symbols, false, getSlot().getType());
}
LogicalResult ReceivedOp::verifySymbolUses(SymbolTableCollection &symbols) {
  return verifyTransfer(*this, symbols, false, getSlot().getType());
}
LogicalResult
ReleaseChannelOp::verifySymbolUses(SymbolTableCollection &symbols) {
  return verifyTransfer(*this, symbols, false);
}

//===----------------------------------------------------------------------===//
// Work
//===----------------------------------------------------------------------===//

/// True if `type` is the tensor that a slot of type `slot` holds.
static bool holds(Type slot, Type type) {
  auto memory = cast<MemRefType>(slot);
  auto tensor = dyn_cast<RankedTensorType>(type);
  return tensor && tensor.getShape() == memory.getShape() &&
         tensor.getElementType() == memory.getElementType();
}

/// call_c2: checks that the types of `slots` match `types` one by one.
static LogicalResult verifySlots(CallOp call, StringRef what,
                                 ArrayRef<Value> slots, ArrayRef<Type> types) {
  if (slots.size() != types.size())
    return call.emitOpError()
           << "needs one slot per " << what << " of @" << call.getCallee()
           << ", got " << slots.size() << " and " << types.size();
  for (auto [index, slot, type] : llvm::enumerate(slots, types))
    if (!holds(slot.getType(), type))
      return call.emitOpError()
             << "slot and " << what << " " << index << " of @"
             << call.getCallee() << " differ, got " << slot.getType() << " and "
             << type;
  return success();
}

LogicalResult CallOp::verifySymbolUses(SymbolTableCollection &symbols) {
  if (getWorkspace()) { // call_c4
    auto buffer = getWorkspace().getDefiningOp<BufferOp>();
    if (failed(verifyDeclared(*this, buffer)))
      return failure();
    if (buffer.getKind() != BufferKind::Workspace)
      return emitOpError() << "workspace is a buffer of kind '"
                           << stringifyBufferKind(buffer.getKind()) << "'";
    if (getWorkspaceOffset() < 0 || getWorkspaceBytes() < 0 ||
        getWorkspaceOffset() % RankDialect::kAlignment)
      return emitOpError() << "workspace needs an offset that is a multiple of "
                           << RankDialect::kAlignment
                           << " and bytes of at least 0, got "
                           << getWorkspaceOffset() << " and "
                           << getWorkspaceBytes();
  }
  auto body = symbols.lookupNearestSymbolFrom<FunctionOpInterface>(
      *this, getCalleeAttr());
  if (!body) // call_c1
    return emitOpError() << "@" << getCallee() << " is not a function";
  // A bufferized body has another signature, for which these rules do not hold.
  auto isMemory = [](Type type) { return !isa<RankedTensorType>(type); };
  if (llvm::any_of(body.getArgumentTypes(), isMemory))
    return success();
  SmallVector<Value> arguments(getInputs()), results(getOutputs());
  llvm::append_range(arguments, getAccumulators());
  llvm::append_range(results, getAccumulators());
  if (failed(
          verifySlots(*this, "argument", arguments, body.getArgumentTypes())) ||
      failed(verifySlots(*this, "result", results, body.getResultTypes())))
    return failure();
  for (unsigned index = 0; index < arguments.size(); ++index) { // call_c3
    bool marked = bool(body.getArgAttr(index, RankDialect::kAccumulate));
    if (marked == (index >= getInputs().size()))
      continue;
    return emitOpError() << "argument " << index << " of @" << getCallee()
                         << (marked ? " is an accumulator and the slot is not"
                                    : " is not an accumulator and the slot is");
  }
  return success();
}

LogicalResult CombineOp::verify() {
  if ((getCombine() == Combine::Sum && !getScale()) ||
      isa<FloatType>(getTarget().getType().getElementType())) // combine_c1
    return success();
  return emitOpError() << (getScale() ? "with a scale" : "by mean")
                       << " needs floats, got " << getTarget().getType();
}

} // namespace stagewright::rank
