//===- RankBuffers.cpp - buffer -------------------------------------------===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Verifiers of the buffers of a program. Labels such as buffer_c1 are those of
// the constraints in RankProgramOps.td and of their tests.
//
//===----------------------------------------------------------------------===//

#include "Slots.h"
#include "stagewright/Dialect/Rank/IR/Rank.h"

using namespace mlir;
using namespace stagewright::rank;

void BufferOp::getAsmResultNames(OpAsmSetValueNameFn setName) {
  // The name is a path in the framework's tree; '/' would print as its hex
  // code.
  std::string name = getBufferName().str();
  llvm::replace(name, '/', '.');
  setName(getBuffer(), name);
}

bool BufferOp::isPerMicrobatch() {
  return llvm::is_contained({BufferKind::Batch, BufferKind::Microbatch,
                             BufferKind::Output, BufferKind::Stash},
                            getKind());
}

bool BufferOp::isCopied() {
  return llvm::any_of(getBuffer().getUsers(),
                      llvm::IsaPred<OffloadOp, FetchOp, AllGatherOp>);
}

int64_t BufferOp::getSlots(int64_t microbatches) {
  return getSlotCount(getDepth(), microbatches);
}

/// Checks buffer_c7.
static LogicalResult verifyStarts(BufferOp buffer) {
  std::optional<ArrayRef<int64_t>> starts = buffer.getStarts();
  if (!starts)
    return success();
  if (!buffer.getPlace())
    return buffer.emitOpError() << "has starts, but no place in the workspace; "
                                << "write 'at' before them";
  if (!buffer->getParentOfType<ProgramOp>().getOnly())
    return buffer.emitOpError()
           << "has starts for " << starts->size() << " microbatches in a "
           << "program for any number; mark the program 'only'";
  for (auto [m, start] : llvm::enumerate(*starts))
    if (start < 0 || start % RankDialect::kAlignment)
      return buffer.emitOpError()
             << "needs starts that are multiples of " << RankDialect::kAlignment
             << " and not negative, got " << start << " for microbatch " << m;
  return success();
}

/// Checks buffer_c10.
static LogicalResult verifyTurns(BufferOp buffer) {
  std::optional<ArrayRef<int64_t>> turns = buffer.getTurns();
  if (!turns && !buffer.getPeriod())
    return success();
  if (!turns || !buffer.getPeriod())
    return buffer.emitOpError() << "needs both turns and their period";
  if (buffer.getKind() != BufferKind::Output || !buffer.isDepthAll())
    return buffer.emitOpError()
           << "of kind '" << stringifyBufferKind(buffer.getKind())
           << "' and depth " << depthText(buffer.getDepth())
           << " cannot have turns; an output of depth all can";
  int64_t period = *buffer.getPeriod(), least = 0;
  bool isSorted = !turns->empty();
  for (int64_t turn : *turns) {
    isSorted &= turn >= least && turn < period;
    least = turn + 1;
  }
  if (isSorted)
    return success();
  return buffer.emitOpError() << "needs turns from 0 to below " << period
                              << " in increasing order, got [" << *turns << "]";
}

LogicalResult BufferOp::verify() {
  StringRef kind = stringifyBufferKind(getKind());
  bool never = llvm::is_contained(
      {BufferKind::Microbatch, BufferKind::Stash, BufferKind::Workspace},
      getKind());
  if (never && getPosition()) // buffer_c1
    return emitOpError() << "of kind '" << kind << "' has no position, got "
                         << *getPosition();
  if (!never && getKind() != BufferKind::Gradient && !getPosition())
    return emitOpError() << "of kind '" << kind << "' needs a position";
  bool isSliced =
      llvm::is_contained({BufferKind::Parameter, BufferKind::Constant,
                          BufferKind::Gradient, BufferKind::State},
                         getKind());
  if (getSlice() && !isSliced) // buffer_c2
    return emitOpError() << "of kind '" << kind << "' cannot be a slice, got "
                         << *getSlice();
  if (getDepth() == 0) // buffer_c3
    return emitOpError() << "depth must be positive or 'all', got "
                         << getDepth();
  if (getDepth() != 1 && !isPerMicrobatch()) // buffer_c3
    return emitOpError() << "of kind '" << kind << "' has one slot, got depth "
                         << depthText(getDepth());
  if (getDepth() < RankDialect::kAll &&
      getKind() != BufferKind::Stash) // buffer_c3
    return emitOpError() << "of kind '" << kind
                         << "' has a fixed number of slots or one for every "
                         << "microbatch, got depth " << depthText(getDepth());
  if (getKind() == BufferKind::Workspace &&
      (getType().getRank() != 1 || !getType().getElementType().isInteger(8)))
    return emitOpError() << "of kind 'workspace' must be a vector of i8, got "
                         << getType(); // buffer_c4
  if (getPlace() && (getKind() != BufferKind::Stash || isDepthAll()))
    return emitOpError() << "of kind '" << kind << "' and depth "
                         << depthText(getDepth())
                         << " has no place in the workspace, got "
                         << *getPlace()
                         << "; a stash of a fixed depth may have one";
  if (getPlace() && (*getPlace() < 0 || *getPlace() % RankDialect::kAlignment))
    return emitOpError() << "needs a place that is a multiple of "
                         << RankDialect::kAlignment << " and not negative, got "
                         << *getPlace();
  if (getOnHost() && (getKind() != BufferKind::Stash || getPlace()))
    return emitOpError() // buffer_c8
           << "of kind '" << kind << "'"
           << (getPlace() ? " and a place in the workspace" : "")
           << " cannot lie on the host; a stash without a place can";
  if (getOwn() && getKind() != BufferKind::Parameter &&
      getKind() != BufferKind::State) // buffer_c9
    return emitOpError() << "of kind '" << kind << "' is no replica's own; a "
                         << "parameter or state may be";
  double weight = getWeight() ? getWeight()->convertToDouble() : 1;
  bool weighs = (getKind() == BufferKind::Parameter ||
                 getKind() == BufferKind::Gradient ||
                 getKind() == BufferKind::Accumulator) &&
                getPosition() && weight > 0 && weight <= 1;
  if (getWeight() && !weighs)
    return emitOpError()
           << "of kind '" << kind << "' cannot have weight " << weight
           << "; a parameter, gradient or accumulator "
           << "with a position may have one above 0 and at most 1";
  if (failed(verifyStarts(*this)) || failed(verifyTurns(*this)))
    return failure();
  return verifySlotType(*this, getType());
}
