//===- RankPrograms.cpp - channel and program -----------------------------===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Assembly and verifiers of channels and programs, and the depth of channels
// and buffers. Labels such as channel_c1 are those of the constraints in
// RankProgramOps.td and of their tests.
//
//===----------------------------------------------------------------------===//

#include "Slots.h"
#include "mlir/IR/Builders.h"
#include "stagewright/Dialect/Pipeline/IR/DestinationStyle.h"
#include "stagewright/Dialect/Rank/IR/Rank.h"
#include "stagewright/Support/Limits.h"
#include "llvm/ADT/StringSet.h"

using namespace mlir;
using namespace stagewright::rank;

//===----------------------------------------------------------------------===//
// Depth: a number of slots, `all`, or `all by 4` for every fourth microbatch
//===----------------------------------------------------------------------===//

static ParseResult parseDepth(OpAsmParser &parser, IntegerAttr &depth) {
  bool all = succeeded(parser.parseOptionalKeyword("all"));
  int64_t number = 1;
  SMLoc where = parser.getCurrentLocation();
  if ((!all || succeeded(parser.parseOptionalKeyword("by"))) &&
      parser.parseInteger(number))
    return failure();
  if (number < 1)
    return parser.emitError(where) // channel_c2, buffer_c3
           << "depth must be positive or 'all', got " << number;
  depth = parser.getBuilder().getI64IntegerAttr(all ? number * RankDialect::kAll
                                                    : number);
  return success();
}

std::string stagewright::rank::depthText(int64_t depth) {
  if (depth >= 0)
    return std::to_string(depth);
  int64_t by = depth / RankDialect::kAll;
  return by == 1 ? "all" : "all by " + std::to_string(by);
}

static void printDepth(OpAsmPrinter &printer, Operation *, IntegerAttr depth) {
  printer << depthText(depth.getInt());
}

/// A list with an element on each line.
static ParseResult parseLines(OpAsmParser &parser, ArrayAttr &list) {
  return parser.parseAttribute(list);
}

static void printLines(OpAsmPrinter &printer, Operation *, ArrayAttr list) {
  printer << "[";
  printer.increaseIndent();
  llvm::interleave(
      list,
      [&](Attribute element) {
        printer.printNewline();
        printer << element;
      },
      [&] { printer << ","; });
  printer.decreaseIndent();
  printer << "]";
}

LogicalResult stagewright::rank::verifySlotType(Operation *op,
                                                MemRefType type) {
  if (type.hasStaticShape() && type.getLayout().isIdentity() &&
      !type.getMemorySpace() && type.getElementType().isIntOrFloat())
    return success();
  return op->emitOpError() << "slot must be a memref of static shape with "
                           << "identity layout, of integers or floats, got "
                           << type;
}

//===----------------------------------------------------------------------===//
// ChannelOp
//===----------------------------------------------------------------------===//

int64_t ChannelOp::getSlots(int64_t microbatches) {
  return getSlotCount(getDepth(), countMessages(microbatches));
}

int64_t ChannelOp::countMessages(int64_t microbatches) {
  return getOnce() ? 1 : int64_t(getMessages().value_or(microbatches));
}

LogicalResult ChannelOp::verify() {
  if (getFrom() < 0 || getTo() < 0 || getFrom() == getTo()) // channel_c1
    return emitOpError() << "must join two ranks, got " << getFrom() << " and "
                         << getTo();
  if (getDepth() == 0) // channel_c2
    return emitOpError() << "depth must be positive or 'all', got "
                         << getDepth();
  if (getOnce() && getSparse()) // channel_c3
    return emitOpError() << "carries one message per step and cannot be sparse";
  if (getOnce() && getDepth() != 1) // channel_c3
    return emitOpError() << "carries one message per step and needs depth 1, "
                         << "got " << depthText(getDepth());
  if (std::optional<int64_t> messages = getMessages()) { // channel_c5
    constexpr int64_t most = 1 << 30;
    if (*messages < 1 || *messages > most)
      return emitOpError() << "carries 1 to " << most << " messages, got "
                           << *messages;
    if (getOnce() || getSparse() || isDepthAll())
      return emitOpError()
             << "with a number of messages needs a depth that is a "
             << "number, and can be neither once nor sparse";
  }
  return verifySlotType(*this, getType());
}

//===----------------------------------------------------------------------===//
// ProgramOp
//===----------------------------------------------------------------------===//

EntryOp ProgramOp::getEntry() {
  return cast<EntryOp>(getBody().front().back());
}

bool ProgramOp::isReadyFirst() {
  return getBody()
      .walk([](ChooseOp) { return WalkResult::interrupt(); })
      .wasInterrupted();
}

LogicalResult ProgramOp::verifyRegions() {
  if (getRank() < 0 || getMicrobatches() < 1 ||
      getMicrobatches() > kMostMicrobatches) // rank_program_c2
    return emitOpError() << "needs a rank of at least 0 and from 1 to "
                         << kMostMicrobatches << " microbatches, got "
                         << getRank() << " and " << getMicrobatches();
  if (int64_t host = getHost().value_or(0); host < 0) // rank_program_c2
    return emitOpError() << "has host " << host << ", expected at least 0";
  DictionaryAttr memory =
      getMemory().value_or(DictionaryAttr::get(getContext()));
  for (NamedAttribute part : memory)
    if (auto bytes = dyn_cast<IntegerAttr>(part.getValue());
        !bytes || !bytes.getType().isInteger(64)) // rank_program_c6
      return emitOpError() << "has " << part.getName() << " = "
                           << part.getValue()
                           << " in its memory, expected an i64";
  llvm::StringSet<> names;
  Block &body = getBody().front();
  if (body.empty() || !isa<EntryOp>(body.back())) // rank_program_c3
    return emitOpError() << "needs a 'rank.entry' at its end";
  for (Operation &op : body) {
    auto buffer = dyn_cast<BufferOp>(op);
    if (!buffer && &op != &body.back()) // rank_program_c3
      return op.emitOpError() << "cannot stand among the buffers of a program";
    if (buffer && !names.insert(buffer.getBufferName()).second)
      return buffer.emitOpError() // rank_program_c4
             << "name '" << buffer.getBufferName()
             << "' is taken by another buffer of the program";
  }
  return success();
}

LogicalResult ProgramOp::verifySymbolUses(SymbolTableCollection &symbols) {
  if (symbols.lookupNearestSymbolFrom<StepOp>(*this, getStepAttr()))
    return success();
  return emitOpError() << "@" << getStep() // rank_program_c1
                       << " is not a 'rank.step'";
}

#define GET_OP_CLASSES
#include "stagewright/Dialect/Rank/IR/RankOps.cpp.inc"
