//===- WriteLoops.cpp - loops with data-dependent indices -----------------===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// If each iteration of a loop writes a row, every thread runs the whole loop
// for one column, so updates of one element keep their order. One thread runs
// loops that write single elements, and loops with arrays of their own, such as
// a loop that ends when its values meet a condition. These arrays are in shared
// memory; OutlineKernels.cpp moves large ones to the workspace. Most scatters
// are written by WriteScatters.cpp instead, which needs fewer iterations per
// thread.
//
//===----------------------------------------------------------------------===//

#include "LoopPoint.h"
#include "RowWriter.h"
#include "stagewright/Conversion/BodiesToKernels/TensorUtils.h"
#include "stagewright/Conversion/RankToDevice/Passes.h"
#include "stagewright/Dialect/Pipeline/IR/Attention.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/Support/MathExtras.h"

namespace stagewright::device {

std::optional<int64_t> allocatedBytes(Operation *op) {
  int64_t bytes = 0;
  WalkResult walk = op->walk([&](memref::AllocOp array) {
    MemRefType type = array.getType();
    if (!type.hasStaticShape() || !type.getLayout().isIdentity() ||
        !type.getElementType().isIntOrFloat())
      return WalkResult::interrupt();
    int64_t element = llvm::divideCeil(type.getElementTypeBitWidth(), 8);
    bytes += llvm::alignTo(type.getNumElements() * element, kVectorBytes);
    return WalkResult::advance();
  });
  return walk.wasInterrupted() ? std::nullopt : std::optional(bytes);
}

bool isElementByElement(linalg::LinalgOp op) {
  if (op.getNumParallelLoops() != op.getNumLoops() || op.hasDynamicShape())
    return false;
  for (OpOperand &operand : op->getOpOperands())
    if (isa<MemRefType>(operand.get().getType()) &&
        !op.getMatchingIndexingMap(&operand).isIdentity())
      return false;
  return true;
}

bool mayOverlap(memref::SubViewOp window) {
  for (auto [offset, size] :
       llvm::zip_equal(window.getMixedOffsets(), window.getStaticSizes()))
    if (isa<Value>(offset) && size != 1)
      return true;
  return false;
}

void writePoint(ThreadWriter &writer, linalg::LinalgOp op, ValueRange indices) {
  SmallVector<Value> arguments;
  for (OpOperand &operand : op->getOpOperands()) {
    if (!isa<MemRefType>(operand.get().getType())) {
      arguments.push_back(writer.lookup(operand.get()));
      continue;
    }
    Memory memory = writer.memoryOf(operand.get());
    arguments.push_back(writer.load(
        memory,
        writer.placeOf(memory, op.getMatchingIndexingMap(&operand), indices)));
  }
  SmallVector<Value> made = writer.body(op, indices, arguments);
  for (auto [init, value] : llvm::zip_equal(op.getDpsInitsMutable(), made)) {
    Memory memory = writer.memoryOf(init.get());
    writer.store(
        memory,
        writer.placeOf(memory, op.getMatchingIndexingMap(&init), indices),
        value);
  }
}

/// The part of a buffer that a view has: offset, size and stride of each
/// dimension in which the view has more than one element. A view of a view, or
/// one with a computed offset in such a dimension, is comparable only to
/// itself.
struct Columns {
  Value view;
  SmallVector<int64_t> window;

  static Columns of(Value view) {
    auto part = view.getDefiningOp<memref::SubViewOp>();
    if (!part || !isa<BlockArgument>(part.getSource()))
      return {view, {}};
    Columns columns;
    for (auto [dim, offset, size, stride] :
         llvm::enumerate(part.getStaticOffsets(), part.getStaticSizes(),
                         part.getStaticStrides())) {
      if (size == 1)
        continue;
      if (ShapedType::isDynamic(offset))
        return {view, {}};
      columns.window.append({int64_t(dim), offset, size, stride});
    }
    return columns;
  }

  bool operator==(const Columns &other) const {
    return view == other.view && window == other.window;
  }
};

/// Whether no thread needs what another thread wrote, in a kernel in which
/// thread t computes element t of all operations `ops`: all views of a buffer
/// that is written have the same columns, and no scalar, such as an offset or a
/// condition, is loaded from such a buffer.
static bool areApart(func::FuncOp kernel, ArrayRef<linalg::LinalgOp> ops) {
  llvm::SmallMapVector<Value, Columns, 4> written;
  for (linalg::LinalgOp op : ops)
    for (Value init : op.getDpsInits()) {
      Columns columns = Columns::of(init);
      auto window = init.getDefiningOp<memref::SubViewOp>();
      if ((window && mayOverlap(window)) ||
          !(written.insert({rootOf(init), columns}).first->second == columns))
        return false;
    }
  for (linalg::LinalgOp op : ops)
    for (Value operand : op->getOperands()) {
      auto *known = written.find(rootOf(operand));
      if (known != written.end() && !(known->second == Columns::of(operand)))
        return false;
    }
  WalkResult loads = kernel.walk([&](memref::LoadOp load) {
    return written.contains(rootOf(load.getMemRef())) ? WalkResult::interrupt()
                                                      : WalkResult::advance();
  });
  return !loads.wasInterrupted();
}

LogicalResult writeLoops(ThreadWriter &writer, func::FuncOp kernel) {
  SmallVector<linalg::LinalgOp> inner;
  bool single = false, known = true;
  kernel.walk([&](Operation *op) {
    if (auto linalgOp = dyn_cast<linalg::LinalgOp>(op))
      inner.push_back(linalgOp);
    single |= isa<memref::StoreOp, memref::AllocOp>(op);
    known &= !isa<memref::AllocaOp, memref::CopyOp>(op) &&
             !pipeline::Attention::get(op);
  });
  std::optional<int64_t> own = allocatedBytes(kernel);
  if (!known || !own || *own > kUsualShared ||
      llvm::any_of(inner,
                   [](linalg::LinalgOp op) { return op.hasDynamicShape(); }))
    return failure();
  int64_t columns = inner.empty() ? 1 : bodies::pointsOf(inner.front());
  bool shared = llvm::all_of(inner, [&](linalg::LinalgOp op) {
    return isElementByElement(op) && bodies::pointsOf(op) == columns;
  });
  if (single || !shared || !areApart(kernel, inner))
    columns = 1;
  int64_t threads =
      std::min<int64_t>(kLoopThreads, llvm::alignTo(columns, kWarp));
  writer.shape.block[0] = threads;
  writer.shape.grid[0] = llvm::divideCeil(columns, threads);
  Value column =
      writer.add(writer.times(writer.blockId(gpu::Dimension::x), threads),
                 writer.threadId());

  auto special = [&](Operation &op) {
    if (auto alloc = dyn_cast<memref::AllocOp>(op)) {
      writer.allocate(alloc.getResult());
      return true;
    }
    auto linalgOp = dyn_cast<linalg::LinalgOp>(op);
    if (!linalgOp)
      return op.getBlock() == &kernel.front() &&
             (isa<func::ReturnOp>(op) || ThreadWriter::isPrelude(op));
    SmallVector<int64_t> ranges = linalgOp.getStaticLoopRanges();
    if (columns != 1) {
      writePoint(writer, linalgOp, writer.split(column, ranges));
      return true;
    }
    writer.loop(bodies::pointsOf(linalgOp), {},
                [&](Value turn, ValueRange) -> SmallVector<Value> {
                  writePoint(writer, linalgOp, writer.split(turn, ranges));
                  return {};
                });
    return true;
  };
  Value inside = threads * writer.shape.grid[0] == columns
                     ? Value()
                     : writer.isLess(column, columns);
  writer.where(inside, {}, [&]() -> SmallVector<Value> {
    writer.special = special;
    writer.cloneBlock(kernel.front(), {});
    writer.special = nullptr;
    return {};
  });
  return success();
}

} // namespace stagewright::device
