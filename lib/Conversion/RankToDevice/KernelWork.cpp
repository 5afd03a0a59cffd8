//===- KernelWork.cpp - bytes and arithmetic of a kernel ------------------===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "KernelWork.h"
#include "RowWriter.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "stagewright/Analysis/CountFlops.h"
#include "stagewright/Analysis/Work.h"
#include "stagewright/Conversion/BodiesToKernels/Passes.h"
#include "stagewright/Conversion/RankToDevice/Passes.h"
#include "stagewright/Dialect/Pipeline/IR/Attention.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/SetVector.h"

namespace stagewright::device {
namespace {

/// Loops that an index depends on, as (operation, number of the loop), and the
/// product of their trip counts.
class Loops {
public:
  void add(Operation *op, int64_t loop, int64_t turns) {
    if (seen.insert({op, loop}).second)
      product *= std::max<int64_t>(turns, 1);
  }
  int64_t turns() const { return product; }

private:
  llvm::DenseSet<std::pair<Operation *, int64_t>> seen;
  int64_t product = 1;
};

int64_t tripsOf(scf::ForOp loop) {
  std::optional<APInt> trips = loop.getStaticTripCount();
  return trips ? trips->getSExtValue() : 1;
}

/// Adds the loops that `value` depends on; returns whether it depends on data.
bool findLoops(Value value, Loops &loops, llvm::DenseSet<Value> &seen) {
  if (!seen.insert(value).second)
    return false;
  bool data = false;
  if (auto argument = dyn_cast<BlockArgument>(value)) {
    Operation *owner = argument.getOwner()->getParentOp();
    if (auto loop = dyn_cast<scf::ForOp>(owner)) {
      loops.add(loop, 0, tripsOf(loop));
      return value != loop.getInductionVar();
    }
    auto op = dyn_cast<linalg::LinalgOp>(owner);
    if (!op)
      return false; // an argument of the kernel
    SmallVector<int64_t> ranges = op.getStaticLoopRanges();
    AffineMap map = op.getIndexingMapsArray()[argument.getArgNumber()];
    for (unsigned loop = 0; loop < ranges.size(); ++loop)
      if (map.isFunctionOfDim(loop))
        loops.add(op, loop, ranges[loop]);
    return true;
  }
  Operation *op = value.getDefiningOp();
  if (auto index = dyn_cast<linalg::IndexOp>(op)) {
    auto of = index->getParentOfType<linalg::LinalgOp>();
    loops.add(of, int64_t(index.getDim()),
              of.getStaticLoopRanges()[index.getDim()]);
    return false;
  }
  data = isa<memref::LoadOp>(op);
  for (Value operand : op->getOperands())
    data |= findLoops(operand, loops, seen);
  return data;
}

/// Distinct bytes of the arguments of a kernel that it reads, or writes.
class Touched {
public:
  /// Adds `elements` of `view`, with `bytes` bytes each.
  void add(Value view, int64_t elements, int64_t bytes) {
    auto type = cast<MemRefType>(view.getType());
    int64_t whole = pipeline::bytesOf(type);
    Loops loops; // of a scatter: each iteration has a view of another row
    llvm::DenseSet<Value> seen;
    for (auto op = view.getDefiningOp<ViewLikeOpInterface>(); op;
         op = op.getViewSource().getDefiningOp<ViewLikeOpInterface>())
      for (Value operand : op->getOperands())
        if (!isa<MemRefType>(operand.getType()))
          findLoops(operand, loops, seen);
    int64_t &sum = views[view];
    sum = std::max(sum, std::min(elements * bytes, whole) * loops.turns());
  }
  void addWhole(Value view) {
    int64_t elements = cast<MemRefType>(view.getType()).getNumElements();
    add(view, elements, bytesOf(view));
  }
  /// Whether a view of the same memory was added.
  bool has(Value view) const {
    Value root = rootOf(view);
    return llvm::any_of(
        views, [&](const auto &it) { return rootOf(it.first) == root; });
  }
  /// The bytes of all arguments; each counts for its size at most.
  int64_t bytes() const {
    llvm::MapVector<Value, int64_t> roots;
    for (auto [view, bytes] : views)
      if (isa<BlockArgument>(rootOf(view))) // others stay on the chip
        roots[rootOf(view)] += bytes;
    int64_t sum = 0;
    for (auto [root, bytes] : roots)
      sum += std::min(bytes, pipeline::bytesOf(root.getType()));
    return sum;
  }
  static int64_t bytesOf(Value view) {
    auto type = cast<MemRefType>(view.getType());
    return pipeline::bytesOf(MemRefType::get({1}, type.getElementType()));
  }

private:
  llvm::MapVector<Value, int64_t> views;
};

/// The number of distinct elements that `map` accesses in the loops of `op`.
int64_t distinct(linalg::LinalgOp op, AffineMap map, MemRefType type) {
  SmallVector<int64_t> ranges = op.getStaticLoopRanges();
  auto turns = [&](auto depends) {
    int64_t product = 1;
    for (auto [loop, range] : llvm::enumerate(ranges))
      if (depends(unsigned(loop)) && !ShapedType::isDynamic(range))
        product *= range;
    return product;
  };
  int64_t places = 1;
  for (auto [result, extent] : llvm::zip(map.getResults(), type.getShape()))
    places *= std::min(extent, turns([&, expr = result](unsigned loop) {
                         return expr.isFunctionOfDim(loop);
                       }));
  return std::min(
      places, turns([&](unsigned loop) { return map.isFunctionOfDim(loop); }));
}

class Counter {
public:
  void count(func::FuncOp kernel) {
    kernel.walk<WalkOrder::PreOrder>([&](Operation *op) {
      if (auto loops = dyn_cast<linalg::LinalgOp>(op)) {
        countOperands(loops);
      } else if (auto load = dyn_cast<memref::LoadOp>(op)) {
        if (!written.has(load.getMemRef()))
          countPlace(read, load.getMemRef(), load.getIndices());
      } else if (auto store = dyn_cast<memref::StoreOp>(op)) {
        countPlace(written, store.getMemRef(), store.getIndices());
      } else if (auto attention = pipeline::Attention::get(op)) {
        for (Value input : attention->inputs)
          read.addWhole(input);
        for (Value output : attention->outputs)
          written.addWhole(output);
      }
    });
  }

  Touched read, written;

private:
  void countOperands(linalg::LinalgOp op) {
    auto elements = [&](OpOperand &operand) {
      return distinct(op, op.getMatchingIndexingMap(&operand),
                      cast<MemRefType>(operand.get().getType()));
    };
    for (OpOperand &operand : op->getOpOperands()) {
      Value view = operand.get();
      if (isa<MemRefType>(view.getType()) && !written.has(view) &&
          op.payloadUsesValueFromOperand(&operand))
        read.add(view, elements(operand), Touched::bytesOf(view));
    }
    for (OpOperand &init : op.getDpsInitsMutable()) {
      // A sum in parts writes to the kernel's last arguments instead.
      if (op->hasAttr(kParts))
        continue;
      written.add(init.get(), elements(init), Touched::bytesOf(init.get()));
    }
  }

  static void countPlace(Touched &touched, Value view, ValueRange indices) {
    Loops loops;
    llvm::DenseSet<Value> seen;
    int64_t bytes = Touched::bytesOf(view);
    bool alone = false;
    for (Value index : indices)
      alone = findLoops(index, loops, seen); // only the last matters
    touched.add(view, loops.turns(), alone ? std::max(bytes, kSector) : bytes);
  }
};

} // namespace

KernelWork workOfKernel(func::FuncOp kernel) {
  Counter counter;
  counter.count(kernel);
  // Partial sums are arguments of the kernel that no operation uses.
  kernel.walk([&](Operation *op) {
    if (op->hasAttr(kParts))
      for (Value argument : kernel.getArguments())
        if (argument.use_empty() && isa<MemRefType>(argument.getType()))
          counter.written.addWhole(argument);
  });
  KernelWork work = {counter.read.bytes(), counter.written.bytes()};
  pipeline::FlopCounter flops;
  for (Operation &op : kernel.front())
    work.flops += flops.countOperation(&op).total;
  return work;
}

} // namespace stagewright::device
