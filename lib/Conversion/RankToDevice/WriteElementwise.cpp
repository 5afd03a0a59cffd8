//===- WriteElementwise.cpp - kernels with a thread per result ------------===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The iterations of the parallel loops are distributed over all threads. If
// there are no reduction loops and the innermost loop allows it, a thread runs
// several consecutive iterations, with vector loads and stores. Reduction loops
// run inside the thread; this works for every operation, and is fastest if
// there are few terms.
//
//===----------------------------------------------------------------------===//

#include "ThreadWriter.h"
#include "stagewright/Conversion/BodiesToKernels/Passes.h"
#include "stagewright/Conversion/RankToDevice/Passes.h"
#include "llvm/Support/MathExtras.h"

namespace stagewright::device {
namespace {

constexpr int64_t kThreads = 256;

struct Operand {
  OpOperand *operand;
  Memory memory;
  AffineMap map;
  std::optional<Linear> linear;
  bool isRead;
};

class Elementwise {
public:
  Elementwise(ThreadWriter &writer, linalg::LinalgOp op, linalg::FillOp fill)
      : writer(writer), op(op), fill(fill), ranges(op.getStaticLoopRanges()) {
    SmallVector<utils::IteratorType> types = op.getIteratorTypesArray();
    for (unsigned loop = 0; loop < ranges.size(); ++loop)
      (types[loop] == utils::IteratorType::reduction ? sums : loops)
          .push_back(loop);
    simple = sums.empty();
    op->walk([&](Operation *inner) {
      if (isa<linalg::IndexOp, memref::LoadOp>(inner))
        hasIndex = true;
    });
    for (OpOperand &operand : op->getOpOperands()) {
      if (!isa<MemRefType>(operand.get().getType()))
        continue;
      Operand o{&operand, writer.memoryOf(operand.get()),
                op.getMatchingIndexingMap(&operand), std::nullopt, true};
      o.linear = Linear::get(o.map, o.memory.strides);
      if (op.isDpsInit(&operand))
        o.isRead = !op.getMatchingBlockArgument(&operand).use_empty();
      operands.push_back(o);
    }
  }

  void write() {
    merge();
    unsigned lanes = chooseLanes();
    int64_t total = 1;
    for (unsigned loop : loops)
      total *= ranges[loop];
    int64_t threads = total / lanes;
    writer.shape.block[0] =
        std::min<int64_t>(kThreads, llvm::alignTo(threads, kWarp));
    writer.shape.grid[0] = llvm::divideCeil(threads, writer.shape.block[0]);
    Value number = writer.add(
        writer.times(writer.blockId(gpu::Dimension::x), writer.shape.block[0]),
        writer.threadId());
    bool exact = threads % writer.shape.block[0] == 0;
    Value inside = exact ? Value() : writer.isLess(number, threads);
    writer.where(inside, {}, [&]() -> SmallVector<Value> {
      SmallVector<int64_t> extents;
      for (unsigned loop : loops)
        extents.push_back(ranges[loop]);
      if (!extents.empty())
        extents.back() /= lanes;
      SmallVector<Value> counters = writer.split(number, extents);
      SmallVector<Value> indices(ranges.size());
      for (auto [loop, counter] : llvm::zip_equal(loops, counters))
        indices[loop] = counter;
      if (!loops.empty())
        indices[loops.back()] = writer.times(indices[loops.back()], lanes);
      if (sums.empty())
        writePoints(indices, lanes);
      else
        writeSum(indices);
      return {};
    });
  }

private:
  /// Merges two neighbouring loops if every operand can be indexed by one loop.
  void merge() {
    if (!simple || hasIndex || !llvm::all_of(operands, [](const Operand &o) {
          return o.linear.has_value();
        }))
      return;
    for (size_t i = loops.size(); i-- > 1;) {
      unsigned outer = loops[i - 1], inner = loops[i];
      if (!llvm::all_of(operands, [&](const Operand &o) {
            return o.linear->steps[outer] ==
                   o.linear->steps[inner] * ranges[inner];
          }))
        continue;
      // The outer loop is kept, with the strides of the inner one.
      for (Operand &o : operands)
        o.linear->steps[outer] = o.linear->steps[inner];
      ranges[outer] *= ranges[inner];
      ranges[inner] = 1;
      loops.erase(loops.begin() + int64_t(i));
      merged.push_back(inner);
    }
    // A loop of one iteration would only cost a division.
    llvm::erase_if(loops, [&](unsigned loop) {
      bool one = ranges[loop] == 1;
      if (one)
        merged.push_back(loop);
      return one;
    });
  }

  unsigned chooseLanes() {
    if (!simple || loops.empty())
      return 1;
    unsigned inner = loops.back();
    int64_t bytes = 2;
    for (const Operand &o : operands) {
      Type element = o.memory.element;
      if (isa<IndexType>(element) || element.getIntOrFloatBitWidth() < 8)
        return 1;
      if (o.linear && o.linear->steps[inner] == 1)
        bytes = std::max<int64_t>(bytes, element.getIntOrFloatBitWidth() / 8);
    }
    unsigned lanes = bytes >= 8 ? 2 : bytes == 4 ? 4 : 8;
    while (lanes > 1 && ranges[inner] % lanes != 0)
      lanes /= 2;
    return lanes;
  }

  /// Whether the lanes of an operand are contiguous and aligned to `lanes`.
  bool isVector(const Operand &o, unsigned lanes) {
    if (lanes == 1 || !o.linear || o.linear->steps[loops.back()] != 1 ||
        o.memory.start ||
        (o.linear->constant + o.memory.offset) % int64_t(lanes) != 0)
      return false;
    for (auto [loop, step] : llvm::enumerate(o.linear->steps))
      if (loop != loops.back() && ranges[loop] != 1 &&
          step % int64_t(lanes) != 0)
        return false;
    return true;
  }

  Value placeOf(const Operand &o, ArrayRef<Value> indices) {
    if (!o.linear)
      return writer.placeOf(o.memory, o.map, indices);
    return writer.placeOf(o.memory, *o.linear, indices);
  }

  /// `indices` with the innermost loop `lane` iterations further.
  SmallVector<Value> laneOf(ArrayRef<Value> indices, unsigned lane) {
    SmallVector<Value> there(indices);
    for (unsigned loop : merged)
      there[loop] = writer.number(0);
    if (!loops.empty())
      there[loops.back()] = writer.add(there[loops.back()], lane);
    return there;
  }

  void writePoints(ArrayRef<Value> indices, unsigned lanes) {
    DenseMap<OpOperand *, SmallVector<Value>> loaded;
    SmallVector<Value> first = laneOf(indices, 0);
    for (const Operand &o : operands) {
      if (!o.isRead)
        continue;
      auto read = [&]() -> SmallVector<Value> {
        if (isVector(o, lanes))
          return writer.loadLanes(o.memory, placeOf(o, first), lanes);
        if (o.linear && !loops.empty() && o.linear->steps[loops.back()] == 0)
          return SmallVector<Value>(lanes,
                                    writer.load(o.memory, placeOf(o, first)));
        SmallVector<Value> values;
        for (unsigned lane = 0; lane < lanes; ++lane)
          values.push_back(
              writer.load(o.memory, placeOf(o, laneOf(indices, lane))));
        return values;
      };
      loaded[o.operand] = op.isDpsInit(o.operand)
                              ? writer.beginSums(op, *o.operand, lanes, read)
                              : read();
    }
    SmallVector<SmallVector<Value>> made(op.getNumDpsInits());
    for (unsigned lane = 0; lane < lanes; ++lane) {
      SmallVector<Value> arguments;
      for (OpOperand &operand : op->getOpOperands()) {
        auto it = loaded.find(&operand);
        arguments.push_back(it != loaded.end() ? it->second[lane]
                            : isa<MemRefType>(operand.get().getType())
                                ? Value()
                                : writer.lookup(operand.get()));
      }
      for (auto [list, value] : llvm::zip_equal(
               made, writer.body(op, laneOf(indices, lane), arguments)))
        list.push_back(value);
    }
    for (auto [i, values] : llvm::enumerate(made)) {
      OpOperand *init = op.getDpsInitOperand(int64_t(i));
      const Operand &o = *operandOf(init);
      SmallVector<Value> list = writer.endSums(*init, values);
      if (isVector(o, lanes)) {
        writer.storeLanes(o.memory, placeOf(o, first), list);
        continue;
      }
      for (auto [lane, value] : llvm::enumerate(list))
        writer.store(o.memory, placeOf(o, laneOf(indices, lane)), value);
    }
  }

  /// Writes the reduction loops, which run inside the thread.
  void writeSum(ArrayRef<Value> indices) {
    SmallVector<Value> inits;
    for (OpOperand &init : op.getDpsInitsMutable()) {
      const Operand &o = *operandOf(&init);
      SmallVector<Value> zeros = laneOf(indices, 0);
      for (unsigned loop : sums)
        zeros[loop] = writer.number(0);
      if (fill && fill.getOutputs()[0] == init.get())
        inits.push_back(writer.lookup(fill.getInputs()[0]));
      else
        llvm::append_range(
            inits, writer.beginSums(op, init, 1, [&]() -> SmallVector<Value> {
              return {writer.load(o.memory, placeOf(o, zeros))};
            }));
    }
    SmallVector<Value> at(indices);
    SmallVector<Value> results = writeTerm(at, sums, inits);
    for (auto [init, value] :
         llvm::zip_equal(op.getDpsInitsMutable(), results)) {
      const Operand &o = *operandOf(&init);
      SmallVector<Value> zeros = laneOf(indices, 0);
      for (unsigned loop : sums)
        zeros[loop] = writer.number(0);
      writer.store(o.memory, placeOf(o, zeros), writer.endSums(init, value)[0]);
    }
  }

  SmallVector<Value> writeTerm(SmallVector<Value> &at, ArrayRef<unsigned> rest,
                               ValueRange sumsSoFar) {
    if (!rest.empty())
      return writer.loop(ranges[rest[0]], sumsSoFar,
                         [&](Value index, ValueRange carried) {
                           at[rest[0]] = index;
                           return writeTerm(at, rest.drop_front(), carried);
                         });
    SmallVector<Value> arguments;
    unsigned sum = 0;
    for (OpOperand &operand : op->getOpOperands()) {
      if (op.isDpsInit(&operand))
        arguments.push_back(sumsSoFar[sum++]);
      else if (Operand *o = operandOf(&operand))
        arguments.push_back(writer.load(o->memory, placeOf(*o, at)));
      else
        arguments.push_back(writer.lookup(operand.get()));
    }
    return writer.body(op, at, arguments);
  }

  Operand *operandOf(OpOperand *operand) {
    auto *it = llvm::find_if(
        operands, [&](const Operand &o) { return o.operand == operand; });
    return it == operands.end() ? nullptr : it;
  }

  ThreadWriter &writer;
  linalg::LinalgOp op;
  linalg::FillOp fill; ///< Initial value of its sums, or null.
  SmallVector<int64_t> ranges;
  SmallVector<unsigned> loops, sums, merged;
  SmallVector<Operand> operands;
  bool simple, hasIndex = false;
};

} // namespace

LogicalResult writeElementwise(ThreadWriter &writer, func::FuncOp kernel) {
  SmallVector<linalg::LinalgOp> ops(kernel.front().getOps<linalg::LinalgOp>());
  if (ops.empty() || ops.size() > 2 ||
      !kernel.front().getOps<scf::ForOp>().empty())
    return failure();
  linalg::FillOp fill;
  if (ops.size() == 2) {
    fill = dyn_cast<linalg::FillOp>(ops[0].getOperation());
    if (!fill ||
        !llvm::is_contained(ops[1].getDpsInits(), fill.getOutputs()[0]))
      return failure();
  }
  linalg::LinalgOp op = ops.back();
  Elementwise elementwise(writer, op, fill);
  elementwise.write();
  return success();
}

} // namespace stagewright::device
