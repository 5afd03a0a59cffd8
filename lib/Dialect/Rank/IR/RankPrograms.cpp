//===- RankPrograms.cpp - step, channel, program, buffer, entry -----------===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Assembly and verifiers of the declarations. The labels are those of the
// constraints in RankOps.td and of the tests.
//
//===----------------------------------------------------------------------===//

#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/Builders.h"
#include "stagewright/Dialect/FunctionLike.h"
#include "stagewright/Dialect/Pipeline/IR/DestinationStyle.h"
#include "stagewright/Dialect/Pipeline/IR/Pipeline.h"
#include "stagewright/Dialect/Rank/IR/Rank.h"
#include "stagewright/Support/Limits.h"
#include "llvm/ADT/StringSet.h"
#include <numeric>

using namespace mlir;
using namespace stagewright::rank;
using stagewright::pipeline::PipelineDialect;

//===----------------------------------------------------------------------===//
// StepOp
//===----------------------------------------------------------------------===//

ParseResult StepOp::parse(OpAsmParser &parser, OperationState &result) {
  return stagewright::parseFunctionLike<StepOp>(parser, result);
}

void StepOp::print(OpAsmPrinter &printer) {
  stagewright::printFunctionLike(printer, *this);
}

LogicalResult StepOp::verify() {
  if (getBody().empty()) // step_c1
    return success();
  return emitOpError() << "must have no body: its programs are its body";
}

static StepOp::TypeByPlace
collectPlaces(ArrayRef<Type> types,
              function_ref<DictionaryAttr(unsigned)> facts) {
  auto number = [](DictionaryAttr of, StringRef name, int64_t otherwise) {
    auto value = of ? of.getAs<IntegerAttr>(name) : IntegerAttr();
    return value ? value.getInt() : otherwise;
  };
  StepOp::TypeByPlace places;
  for (auto [index, type] : llvm::enumerate(types)) {
    DictionaryAttr of = facts(index);
    places.try_emplace({number(of, PipelineDialect::kPosition, index),
                        number(of, PipelineDialect::kSlice, -1)},
                       dyn_cast<RankedTensorType>(type));
  }
  return places;
}

StepOp::TypeByPlace StepOp::collectArguments() {
  return collectPlaces(getArgumentTypes(), [&](unsigned index) {
    return function_interface_impl::getArgAttrDict(*this, index);
  });
}

StepOp::TypeByPlace StepOp::collectResults() {
  return collectPlaces(getResultTypes(), [&](unsigned index) {
    return function_interface_impl::getResultAttrDict(*this, index);
  });
}

static MemRefType memoryOf(RankedTensorType type) {
  return type ? MemRefType::get(type.getShape(), type.getElementType())
              : MemRefType();
}

/// Checks rank_program_c5.
static LogicalResult verifyPlaces(StepOp step, ProgramOp program,
                                  const StepOp::TypeByPlace &arguments,
                                  const StepOp::TypeByPlace &results) {
  for (BufferOp buffer : program.getBody().front().getOps<BufferOp>()) {
    if (std::optional<int64_t> own = buffer.getOwn()) { // buffer_c9
      auto found = arguments.find({*own, -1});
      if (found == arguments.end() ||
          memoryOf(found->second) != buffer.getType())
        return buffer.emitOpError()
               << "is a replica's own at position " << *own << ", but @"
               << step.getSymName() << " has no argument of type "
               << buffer.getType() << " there";
    }
    if (!buffer.getPosition())
      continue;
    int64_t position = *buffer.getPosition();
    int64_t slice = buffer.getSlice().value_or(-1);
    bool isResult = buffer.getKind() == BufferKind::Gradient ||
                    buffer.getKind() == BufferKind::Accumulator ||
                    buffer.getKind() == BufferKind::Output;
    const StepOp::TypeByPlace &places = isResult ? results : arguments;
    auto found = places.find({position, slice});
    MemRefType slot = buffer.getType();
    if (found == places.end() || !found->second)
      return buffer.emitOpError()
             << "@" << step.getSymName() << " has no "
             << (isResult ? "result" : "argument") << " at position "
             << position << (slice < 0 ? "" : " with this slice");
    RankedTensorType type = found->second;
    if (type.getShape() != slot.getShape() ||
        type.getElementType() != slot.getElementType())
      return buffer.emitOpError()
             << "type differs from " << (isResult ? "result" : "argument")
             << " " << position << " of @" << step.getSymName() << ", got "
             << slot << " and " << type;
  }
  return success();
}

/// Checks all programs of the step, perhaps a thousand, so that its arguments
/// are collected only once.
LogicalResult StepOp::verifySymbolUses(SymbolTableCollection &symbols) {
  TypeByPlace arguments = collectArguments(), results = collectResults();
  for (ProgramOp program : (*this)->getParentRegion()->getOps<ProgramOp>())
    if (program.getStep() == getSymName() &&
        failed(verifyPlaces(*this, program, arguments, results)))
      return failure();
  return success();
}

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

static std::string depthText(int64_t depth) {
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

/// Checks channel_c4 and buffer_c5: the type of a slot.
static LogicalResult verifySlotType(Operation *op, MemRefType type) {
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
    if (*messages < 1)
      return emitOpError() << "carries a positive number of messages, got "
                           << *messages;
    if (getOnce() || getSparse() || isDepthAll())
      return emitOpError() << "with a number of messages has a depth that is a "
                           << "number, and is neither once nor sparse";
  }
  return verifySlotType(*this, getType());
}

//===----------------------------------------------------------------------===//
// ProgramOp
//===----------------------------------------------------------------------===//

EntryOp ProgramOp::getEntry() {
  return cast<EntryOp>(getBody().front().back());
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

//===----------------------------------------------------------------------===//
// BufferOp
//===----------------------------------------------------------------------===//

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
                         << "' has a slot for every microbatch or some, got "
                         << "depth " << depthText(getDepth());
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

//===----------------------------------------------------------------------===//
// EntryOp, ActionOp
//===----------------------------------------------------------------------===//

void EntryOp::getAsmBlockArgumentNames(Region &region,
                                       OpAsmSetValueNameFn setName) {
  if (region.getNumArguments() == 1)
    setName(region.getArgument(0), "M");
}

ParseResult EntryOp::parse(OpAsmParser &parser, OperationState &result) {
  OpAsmParser::Argument microbatches;
  microbatches.type = parser.getBuilder().getIndexType();
  if (parser.parseLParen() || parser.parseArgument(microbatches) ||
      parser.parseRParen() ||
      parser.parseRegion(*result.addRegion(), microbatches) ||
      parser.parseOptionalAttrDict(result.attributes))
    return failure();
  if (result.regions.front()->empty())
    return parser.emitError(parser.getNameLoc(), "entry needs a body");
  return success();
}

void EntryOp::print(OpAsmPrinter &printer) {
  printer << " (" << getBody().getArgument(0) << ") ";
  printer.printRegion(getBody(), /*printEntryBlockArgs=*/false,
                      /*printBlockTerminators=*/false);
  printer.printOptionalAttrDict((*this)->getAttrs());
}

LogicalResult EntryOp::verify() {
  if (getBody().getNumArguments() == 1 &&
      getBody().getArgument(0).getType().isIndex()) // entry_c1
    return success();
  return emitOpError() << "needs one argument of type index, the number of "
                       << "microbatches, got "
                       << getBody().getArgumentTypes().size();
}

LogicalResult ActionOp::verify() {
  if ((*this)->getParentOfType<EntryOp>() &&
      !(*this)->getParentOfType<ActionOp>()) // action_c1
    return success();
  return emitOpError() << "must lie in a 'rank.entry' and in no other action";
}

LogicalResult TableOp::verify() {
  if (getCases().empty() ||
      getCases().size() != getMicrobatches().size()) // table_c1
    return emitOpError() << "needs a case and a microbatch in each of its "
                         << "rows, got " << getCases().size() << " and "
                         << getMicrobatches().size();
  for (int64_t number :
       llvm::concat<const int64_t>(getCases(), getMicrobatches()))
    if (number < 0) // table_c1
      return emitOpError() << "cases and microbatches are not negative, got "
                           << number;
  if ((*this)->getParentOfType<EntryOp>()) // table_c2
    return success();
  return emitOpError() << "must lie in a 'rank.entry'";
}

bool ProgramOp::isReadyFirst() {
  return getBody()
      .walk([](ChooseOp) { return WalkResult::interrupt(); })
      .wasInterrupted();
}

LogicalResult ChooseOp::verify() {
  int64_t rows =
      std::accumulate(getLanes().begin(), getLanes().end(), int64_t(0));
  if (getLanes().empty() || int64_t(getTurns().size()) != rows ||
      llvm::any_of(getLanes(),
                   [](int64_t lane) { return lane < 1; })) // choose_c1
    return emitOpError() << "needs rows in each of its lanes and a turn for "
                         << "each, got lanes [" << getLanes() << "] and "
                         << getTurns().size() << " turns";
  int64_t lanes = getLanes().size();
  bool paired = getAfter().size() % 2 == 0;
  for (size_t i = 0; paired && i < getAfter().size(); i += 2)
    for (int64_t lane : {getAfter()[i], getAfter()[i + 1]})
      paired &= lane >= 0 && lane < lanes &&
                getAfter()[i] != getAfter()[i + 1]; // choose_c2
  if (!paired)
    return emitOpError() << "needs pairs of two different lanes of " << lanes
                         << " after 'after'";
  auto program = (*this)->getParentOfType<ProgramOp>();
  if (!isa<scf::ForOp>((*this)->getParentOp()) ||
      !(*this)->getParentOfType<EntryOp>() || !program.getOnly()) // choose_c3
    return emitOpError() << "must lie in a loop of a 'rank.entry' for one "
                         << "number of microbatches";
  for (Operation *user : getRow().getUsers())
    if (auto table = dyn_cast<TableOp>(user);
        !table || int64_t(table.getCases().size()) != rows) // choose_c4
      return emitOpError() << "must be read by a 'rank.table' of its " << rows
                           << " rows";
  return success();
}

#define GET_OP_CLASSES
#include "stagewright/Dialect/Rank/IR/RankOps.cpp.inc"
