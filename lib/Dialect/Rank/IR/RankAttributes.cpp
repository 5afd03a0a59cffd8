//===- RankAttributes.cpp - the facts of an artifact ----------------------===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Syntax and verifiers. The labels are those of the constraints in
// RankArtifact.td.
//
//===----------------------------------------------------------------------===//

#include "mlir/IR/Builders.h"
#include "mlir/IR/DialectImplementation.h"
#include "stagewright/Dialect/Pipeline/IR/Pipeline.h"
#include "stagewright/Dialect/Rank/IR/Rank.h"
#include "stagewright/Support/SliceAxes.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace stagewright::rank;

namespace stagewright::rank {
template <typename T>
static FailureOr<SmallVector<T>> parseList(AsmParser &parser) {
  SmallVector<T> list;
  auto parseOne = [&]() -> ParseResult {
    FailureOr<T> one = FieldParser<T>::parse(parser);
    if (succeeded(one))
      list.push_back(*one);
    return LogicalResult(one);
  };
  if (parser.parseCommaSeparatedList(AsmParser::Delimiter::Square, parseOne))
    return failure();
  return list;
}

template <typename T>
static void printList(AsmPrinter &printer, ArrayRef<T> list) {
  printer << "[";
  llvm::interleaveComma(list, printer, [&](const T &one) {
    printer.printStrippedAttrOrType(one);
  });
  printer << "]";
}
} // namespace stagewright::rank

#define GET_ATTRDEF_CLASSES
#include "stagewright/Dialect/Rank/IR/RankAttributes.cpp.inc"

#define GET_TYPEDEF_CLASSES
#include "stagewright/Dialect/Rank/IR/RankTypes.cpp.inc"

void RankDialect::initialize() {
  addAttributes<
#define GET_ATTRDEF_LIST
#include "stagewright/Dialect/Rank/IR/RankAttributes.cpp.inc"
      >();
  addTypes<
#define GET_TYPEDEF_LIST
#include "stagewright/Dialect/Rank/IR/RankTypes.cpp.inc"
      >();
  addOperations<
#define GET_OP_LIST
#include "stagewright/Dialect/Rank/IR/RankOps.cpp.inc"
      >();
}

using EmitError = function_ref<InFlightDiagnostic()>;

/// Checks that none of `numbers` is less than `least`.
static LogicalResult atLeast(EmitError emitError, int64_t least,
                             ArrayRef<int64_t> numbers, StringRef what) {
  const int64_t *low =
      llvm::find_if(numbers, [&](int64_t number) { return number < least; });
  if (low == numbers.end())
    return success();
  return emitError() << what << " must be at least " << least << ", got "
                     << *low;
}

LogicalResult InterfaceAttr::verify(EmitError emitError, int64_t position,
                                    StringAttr name, StringAttr,
                                    RankedTensorType type, int64_t slices,
                                    int64_t rows, int64_t runs,
                                    int64_t batchDim, StringAttr, int64_t, bool,
                                    StringAttr, int64_t unit,
                                    ArrayRef<int64_t> axes) {
  if (getElementName(type.getElementType()).empty()) // interface_c1
    return emitError() << name << " has element type " << type.getElementType()
                       << ", which no file of tensors can hold";
  if (!type.hasStaticShape()) // interface_c1
    return emitError() << name << " must have a static shape, got " << type;
  if (failed(atLeast(emitError, 0, {position, slices, batchDim},
                     "position, slices and batch_dim"))) // interface_c2
    return failure();
  if (failed(atLeast(emitError, 1, {rows, runs, unit}, // interface_c2
                     "rows, runs and unit")))
    return failure();
  if (!axes.empty() && // interface_c3
      (axes.size() % 4 != 0 || !SliceAxes::of(axes.data(), axes.size())
                                    .give(type.getShape().vec(), rows, slices)))
    return emitError() << name << " of type " << type << " has " << slices
                       << " slices in " << rows << " rows, not those of axes ["
                       << axes << "]";
  return success();
}

/// Checks a ring of slots, or a bucket, which has depth 1.
static LogicalResult verifyRing(EmitError emitError, StringAttr name,
                                RankedTensorType type, int64_t depth = 1) {
  if (depth == 0) // channel_facts_c1, buffer_facts_c1
    return emitError() << name << " has depth 0";
  if (type.hasStaticShape() && type.getElementType().isIntOrFloat())
    return success();
  return emitError() << name // channel_facts_c2, buffer_facts_c2
                     << " must have a static shape, of integers or floats, got "
                     << type;
}

LogicalResult ChannelAttr::verify(EmitError emitError, StringAttr name, int64_t,
                                  int64_t, RankedTensorType type, int64_t depth,
                                  int64_t round, bool, int64_t messages) {
  if (failed(verifyRing(emitError, name, type, depth)))
    return failure();
  return atLeast(emitError, 0, {round, messages},
                 "round and messages"); // channel_facts_c1
}

LogicalResult CollectiveAttr::verify(EmitError emitError, StringAttr name,
                                     RankedTensorType type,
                                     ArrayRef<BucketAttr>, bool, bool) {
  return verifyRing(emitError, name, type); // collective_facts_c1
}

LogicalResult BufferAttr::verify(EmitError emitError, StringAttr name,
                                 BufferKind, RankedTensorType type,
                                 int64_t depth, int64_t, int64_t, int64_t,
                                 int64_t, int64_t, bool, int64_t, int64_t,
                                 FloatAttr, ArrayRef<int64_t> turns,
                                 int64_t period) {
  if (turns.empty() != (period == 0)) // buffer_facts_c3
    return emitError() << "buffer " << name << " has " << turns.size()
                       << " turns and period " << period
                       << "; it needs both or neither";
  return verifyRing(emitError, name, type, depth);
}

LogicalResult RowAttr::verify(EmitError emitError, StringAttr name, int64_t,
                              int64_t, ArrayRef<int64_t> receives,
                              ArrayRef<int64_t> claims, ArrayRef<int64_t>) {
  if (receives.size() % 2 || claims.size() % 2) // row_c1
    return emitError() << "row " << name
                       << " must wait for pairs of a channel and a message";
  return success();
}

LogicalResult ProgramAttr::verify(EmitError emitError, StringAttr, int64_t,
                                  StringAttr entry, ArrayRef<int64_t>,
                                  ArrayRef<BufferAttr> buffers,
                                  ArrayRef<DenseI64ArrayAttr> starts,
                                  ArrayRef<StringAttr>, DictionaryAttr memory,
                                  ArrayRef<AverageAttr> averages,
                                  ArrayRef<RowAttr>) {
  if (memory)
    for (NamedAttribute entry : memory) // program_facts_c1
      if (auto bytes = dyn_cast<IntegerAttr>(entry.getValue());
          !bytes || !bytes.getType().isInteger(64))
        return emitError() << "memory must be integers of 64 bits, got "
                           << entry.getName() << " = " << entry.getValue();
  auto refuse = [&](StringRef what, int64_t number, size_t count) {
    return emitError() << "program " << entry << " has no " << what << " "
                       << number << ", it has " << count;
  };
  for (BufferAttr buffer : buffers) // program_facts_c2
    if (buffer.getStarts() < -1 || buffer.getStarts() >= int64_t(starts.size()))
      return refuse("starts", buffer.getStarts(), starts.size());
  for (AverageAttr average : averages) { // program_facts_c2
    SmallVector<int64_t> used(average.getParameters());
    used.append({average.getStep(), average.getSum(),
                 std::max<int64_t>(average.getSnapshot(), 0)});
    for (int64_t buffer : used)
      if (buffer < 0 || buffer >= int64_t(buffers.size()))
        return refuse("buffer", buffer, buffers.size());
  }
  return success();
}

LogicalResult KernelAttr::verify(EmitError emitError, ArrayRef<int64_t> adds,
                                 int64_t arguments, ArrayRef<int64_t> block,
                                 ArrayRef<int64_t> bytes, int64_t flops,
                                 StringAttr, ArrayRef<int64_t> grid, bool,
                                 StringAttr name, int64_t read, int64_t shared,
                                 ArrayRef<int64_t> sums, int64_t written) {
  if (grid.size() != 3 || block.size() != 3) // kernel_c1
    return emitError() << "kernel " << name
                       << " needs a grid and a block of three numbers, got "
                       << grid.size() << " and " << block.size();
  SmallVector<int64_t> others = {arguments, flops, read, shared, written};
  for (ArrayRef<int64_t> list : {adds, bytes, sums})
    llvm::append_range(others, list);
  if (failed(atLeast(emitError, 1, grid, "grid")) ||
      failed(atLeast(emitError, 1, block, "block"))) // kernel_c1
    return failure();
  return atLeast(emitError, 0, others, "numbers of a kernel"); // kernel_c1
}

LogicalResult ConstantAttr::verify(EmitError emitError, int64_t bytes,
                                   StringAttr) {
  return atLeast(emitError, 0, bytes, "bytes"); // constant_c1
}

LogicalResult ArtifactOp::verify() {
  if (getMicrobatches() < 1) // artifact_c1
    return emitOpError() << "needs a positive number of microbatches, got "
                         << getMicrobatches();
  auto refuse = [&](Attribute of, StringRef what, int64_t number) {
    return emitOpError() << "has no " << what << " " << number << ", which "
                         << of << " names";
  };
  auto has = [](ArrayAttr list, int64_t number) {
    return number >= 0 && number < int64_t(list.size());
  };
  for (auto channel : getChannels().getAsRange<ChannelAttr>()) // artifact_c2
    for (int64_t end : {channel.getFrom(), channel.getTo()})
      if (!has(getPrograms(), end))
        return refuse(channel, "program", end);
  for (auto sum : getCollectives().getAsRange<CollectiveAttr>())
    for (BucketAttr bucket : sum.getBuckets()) { // artifact_c3
      if (!has(getPrograms(), bucket.getRank()))
        return refuse(bucket, "program", bucket.getRank());
      auto program = cast<ProgramAttr>(getPrograms()[bucket.getRank()]);
      int64_t first = bucket.getFirst(), count = bucket.getBuffers();
      int64_t all = program.getBuffers().size();
      if (first < 0 || first >= all)
        return refuse(bucket, "buffer", first);
      if (count < 1 || count > all - first)
        return refuse(bucket, "buffer", all);
    }
  for (auto program : getPrograms().getAsRange<ProgramAttr>()) { // artifact_c4
    for (AverageAttr average : program.getAverages())
      if (!has(getCollectives(), average.getCollective()))
        return refuse(average, "collective", average.getCollective());
    for (RowAttr row : program.getRows())
      for (ArrayRef<int64_t> pairs : {row.getReceives(), row.getClaims()})
        for (size_t i = 0; i < pairs.size(); i += 2)
          if (!has(getChannels(), pairs[i]))
            return refuse(row, "channel", pairs[i]);
  }
  return success();
}
