//===- WriteSums.cpp - the parts of a sum over many rows ------------------===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A block sums one part of the rows for some columns. Its threads form strands:
// the strands take rows in turn, and the threads of a strand, its lanes, take
// adjacent columns. Strands of a warp are combined by shuffles, warps in shared
// memory. A sum with one result has no columns: all threads of a block take
// terms in turn. If the rows are not split, the block also writes the result.
//
//===----------------------------------------------------------------------===//

#include "RowLoops.h"
#include "SplitSums.h"
#include "ThreadWriter.h"
#include "stagewright/Conversion/BodiesToKernels/Passes.h"
#include "stagewright/Conversion/BodiesToKernels/TensorUtils.h"
#include "stagewright/Conversion/RankToDevice/Passes.h"
#include "llvm/Support/MathExtras.h"

namespace stagewright::device {
namespace {

/// Max threads of a block.
constexpr int64_t kMostSumThreads = 1024;

class Sums {
public:
  Sums(ThreadWriter &writer, linalg::LinalgOp op, int64_t parts)
      : writer(writer), op(op), parts(parts), ranges(op.getStaticLoopRanges()) {
    for (unsigned i = 0; i < op.getNumDpsInits(); ++i)
      combiners.push_back(*matchCombiner(op, i));
    SmallVector<utils::IteratorType> types = op.getIteratorTypesArray();
    for (unsigned loop = 0; loop < ranges.size(); ++loop) {
      bool sums = types[loop] == utils::IteratorType::reduction;
      (sums ? rows : columns).push_back(loop);
      (sums ? numRows : numColumns) *= ranges[loop];
    }
    lanes = numColumns == 1 ? 1 : kWarp;
    // With few columns, fewer lanes, but at least one memory transaction wide.
    while (lanes > fewestLanes() &&
           llvm::divideCeil(numRows, parts) * lanes >= 2 * kSumThreads &&
           llvm::divideCeil(numColumns, lanes) * parts < kBusyBlocks)
      lanes /= 2;
    // With few blocks, a block has more threads if each still sums several
    // rows.
    int64_t blocks = llvm::divideCeil(numColumns, lanes) * parts;
    while (lanes > 1 && threads < kMostSumThreads &&
           blocks * threads < kBusyBlocks * kSumThreads &&
           int64_t(llvm::divideCeil(numRows, parts)) * lanes >= 4 * threads)
      threads *= 2;
  }

  /// Writes the kernel; `keep` gets each sum of the thread's column.
  void write(llvm::function_ref<void(unsigned number, Value sum)> keep) {
    writer.shape.block[0] = threads;
    writer.shape.grid[0] = llvm::divideCeil(numColumns, lanes);
    writer.shape.grid[1] = parts;
    Value thread = writer.threadId();
    Value lane = writer.modulo(thread, lanes);
    column = writer.add(writer.times(writer.blockId(gpu::Dimension::x), lanes),
                        lane);
    part = writer.blockId(gpu::Dimension::y);
    perPart = llvm::divideCeil(numRows, parts);
    Value inside =
        numColumns % lanes == 0 ? Value() : writer.isLess(column, numColumns);
    SmallVector<Value> sums =
        sumsOfThread(writer.dividedBy(thread, lanes), inside);
    SmallVector<Memory> meeting;
    Value warp = writer.times(writer.dividedBy(thread, kWarp), lanes);
    for (auto [sum, combiner] : llvm::zip_equal(sums, combiners)) {
      if (lanes == 1) {
        sum = writer.reduce(sum, combiner.op, thread, threads);
        continue;
      }
      for (int64_t other = lanes; other < kWarp; other *= 2)
        sum = writer.combine(combiner.op, sum, writer.shuffle(sum, other));
      Memory memory = writer.shared(sum.getType(), threads / kWarp * lanes);
      writer.where(lanes == kWarp
                       ? Value()
                       : writer.isLess(writer.modulo(thread, kWarp), lanes),
                   {}, [&]() -> SmallVector<Value> {
                     writer.store(memory, writer.add(warp, lane), sum);
                     return {};
                   });
      meeting.push_back(memory);
    }
    if (lanes != 1)
      writer.barrier();
    Value first = writer.isLess(thread, lanes);
    writer.where(inside ? both(first, inside) : first, {},
                 [&]() -> SmallVector<Value> {
                   for (unsigned i = 0; i < sums.size(); ++i)
                     keep(i, lanes == 1 ? sums[i] : meet(meeting[i], i, lane));
                   return {};
                 });
  }

  /// The place of the thread's partial sum in the buffer of partial sums.
  Value placeOfPart() {
    return writer.add(writer.times(part, numColumns), column);
  }
  /// The place of the thread's column in the buffer of result `i`.
  Value placeOfResult(unsigned i) {
    OpOperand *init = op.getDpsInitOperand(i);
    return writer.placeOf(writer.memoryOf(init->get()),
                          op.getMatchingIndexingMap(init),
                          indicesAt(writer.number(0)));
  }
  Value combine(unsigned i, Value a, Value b) {
    return writer.combine(combiners[i].op, a, b);
  }

private:
  int64_t fewestLanes() {
    int64_t fewest = 1;
    for (OpOperand *operand : op.getDpsInputOperands())
      if (auto type = dyn_cast<MemRefType>(operand->get().getType());
          type && type.getElementType().isIntOrFloat())
        fewest = std::max(fewest,
                          kSector * 8 / int64_t(type.getElementTypeBitWidth()));
    return std::min(fewest, kWarp);
  }

  Value both(Value a, Value b) {
    return arith::AndIOp::create(writer.builder, writer.loc, a, b);
  }

  /// Combines the sums of all warps for one lane.
  Value meet(const Memory &meeting, unsigned i, Value lane) {
    Value total = writer.load(meeting, lane);
    for (int64_t other = lanes; other < threads / kWarp * lanes; other += lanes)
      total = combine(i, total, writer.load(meeting, writer.add(lane, other)));
    return total;
  }

  /// The sums of the thread over rows of its part: from `first` in steps of the
  /// number of strands.
  SmallVector<Value> sumsOfThread(Value first, Value inside) {
    int64_t strands = threads / lanes;
    int64_t turns = llvm::divideCeil(perPart, strands);
    SmallVector<Value> identities;
    for (const Combiner &combiner : combiners)
      identities.push_back(arith::ConstantOp::create(writer.builder, writer.loc,
                                                     combiner.identity));
    Value start = writer.times(part, perPart);
    return writer.where(inside, identities, [&]() -> SmallVector<Value> {
      return writer.loop(
          turns, identities, [&](Value turn, ValueRange carried) {
            Value inPart = writer.add(writer.times(turn, strands), first);
            Value row = writer.add(start, inPart);
            Value valid;
            if (perPart % strands != 0)
              valid = writer.isLess(inPart, perPart);
            if (perPart * parts != numRows) {
              Value exists = writer.isLess(row, numRows);
              valid = valid ? both(valid, exists) : exists;
            }
            return writer.where(valid, carried,
                                [&] { return addTerm(row, carried); });
          });
    });
  }

  SmallVector<Value> indicesAt(Value row) {
    SmallVector<Value> indices(ranges.size());
    auto place = [&](ArrayRef<unsigned> loops, Value counter) {
      SmallVector<int64_t> extents;
      for (unsigned loop : loops)
        extents.push_back(ranges[loop]);
      for (auto [loop, index] :
           llvm::zip_equal(loops, writer.split(counter, extents)))
        indices[loop] = index;
    };
    place(rows, row);
    place(columns, column);
    return indices;
  }

  SmallVector<Value> addTerm(Value row, ValueRange carried) {
    SmallVector<Value> indices = indicesAt(row);
    SmallVector<Value> arguments;
    for (OpOperand *operand : op.getDpsInputOperands()) {
      if (!isa<MemRefType>(operand->get().getType())) {
        arguments.push_back(writer.lookup(operand->get()));
        continue;
      }
      Memory memory = writer.memoryOf(operand->get());
      AffineMap map = op.getMatchingIndexingMap(operand);
      arguments.push_back(
          writer.load(memory, writer.placeOf(memory, map, indices)));
    }
    llvm::append_range(arguments, carried);
    return writer.body(op, indices, arguments);
  }

  ThreadWriter &writer;
  linalg::LinalgOp op;
  int64_t parts, perPart = 0, numRows = 1, numColumns = 1;
  int64_t lanes; ///< Threads on adjacent columns of a row.
  int64_t threads = kSumThreads;
  SmallVector<int64_t> ranges;
  SmallVector<Combiner> combiners;
  SmallVector<unsigned> rows, columns;
  Value column, part;
};

/// Min rows that the warps of a block share. If there are many columns, one
/// thread per column (WriteElementwise.cpp) keeps the device busy; if there are
/// few, such as when partial sums are added, it does not.
constexpr int64_t kFewestRows = 32;
constexpr int64_t kFewestOfFewColumns = kSumThreads / kWarp;
constexpr int64_t kFewColumns = 128 * kSumThreads;

/// Whether `op` is a sum that one block can do for some columns.
bool isColumnSum(linalg::LinalgOp op) {
  SmallVector<utils::IteratorType> types = op.getIteratorTypesArray();
  if (!isa<linalg::GenericOp>(op.getOperation()) || bodies::isConvolution(op) ||
      types.empty() || types.back() == utils::IteratorType::reduction)
    return false;
  int64_t rows = 1, columns = 1;
  for (auto [range, type] : llvm::zip_equal(op.getStaticLoopRanges(), types))
    (type == utils::IteratorType::reduction ? rows : columns) *= range;
  bool sums =
      rows >= (columns <= kFewColumns ? kFewestOfFewColumns : kFewestRows);
  for (unsigned i = 0; i < op.getNumDpsInits(); ++i)
    sums &= succeeded(matchCombiner(op, i));
  return sums;
}

} // namespace

LogicalResult writeSums(ThreadWriter &writer, func::FuncOp kernel) {
  linalg::LinalgOp op;
  DenseMap<Value, Value> fills;
  for (Operation &inner : kernel.front()) {
    auto linalgOp = dyn_cast<linalg::LinalgOp>(inner);
    if (auto fill = dyn_cast<linalg::FillOp>(inner))
      fills[fill.getOutputs()[0]] = fill.getInputs()[0];
    else if (linalgOp && !op)
      op = linalgOp;
    else if (linalgOp || isa<scf::ForOp>(inner))
      return failure();
  }
  if (!op)
    return failure();
  if (auto parts = op->getAttrOfType<IntegerAttr>(kParts)) {
    Sums sums(writer, op, parts.getInt());
    auto partial = kernel.getArguments().take_back(op.getNumDpsInits());
    sums.write([&](unsigned i, Value sum) {
      writer.store(writer.memoryOf(partial[i]), sums.placeOfPart(), sum);
    });
    return success();
  }
  if (!isColumnSum(op))
    return failure();
  Sums sums(writer, op, 1);
  sums.write([&](unsigned i, Value sum) {
    Value result = op.getDpsInits()[i], place = sums.placeOfResult(i);
    Memory memory = writer.memoryOf(result);
    Value fill = fills.lookup(result);
    auto read = [&]() -> SmallVector<Value> {
      return {writer.load(memory, place)};
    };
    Value start =
        fill ? writer.lookup(fill)
             : writer.beginSums(op, *op.getDpsInitOperand(i), 1, read)[0];
    Value whole = sums.combine(i, start, sum);
    writer.store(memory, place,
                 writer.endSums(*op.getDpsInitOperand(i), whole)[0]);
  });
  return success();
}

} // namespace stagewright::device
