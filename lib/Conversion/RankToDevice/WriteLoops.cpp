//===- WriteLoops.cpp - loops with data-dependent indices -----------------===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A loop in which each iteration writes a row. Every thread runs the whole loop
// for one column, so updates of one element keep their order. A loop that reads
// and writes single elements is run by one thread, and so is one with arrays of
// its own, such as a loop that ends when its values say so; these arrays are in
// shared memory. Most scatters are written by WriteScatters.cpp instead, which
// needs fewer iterations per thread.
//
//===----------------------------------------------------------------------===//

#include "../RankToHost/TensorUtils.h"
#include "LoopPoint.h"
#include "stagewright/Conversion/RankToDevice/Passes.h"
#include "stagewright/Dialect/Pipeline/IR/Attention.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;

namespace stagewright::device {

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

/// Bytes of an array that a kernel allocates, rounded up to the alignment of
/// shared memory; none if they are not known.
static std::optional<int64_t> allocatedBytes(memref::AllocOp op) {
  MemRefType type = op.getType();
  if (!type.hasStaticShape() || !type.getLayout().isIdentity() ||
      !type.getElementType().isIntOrFloat())
    return std::nullopt;
  return llvm::alignTo(type.getNumElements() *
                           llvm::divideCeil(type.getElementTypeBitWidth(), 8),
                       kWarp / 2);
}

LogicalResult writeLoops(ThreadWriter &writer, func::FuncOp kernel) {
  SmallVector<linalg::LinalgOp> inner;
  bool single = false, known = true;
  int64_t bytes = 0;
  kernel.walk([&](Operation *op) {
    if (auto linalgOp = dyn_cast<linalg::LinalgOp>(op))
      inner.push_back(linalgOp);
    if (auto alloc = dyn_cast<memref::AllocOp>(op)) {
      std::optional<int64_t> own = allocatedBytes(alloc);
      known &= own.has_value();
      bytes += own.value_or(0);
    }
    single |= isa<memref::StoreOp, memref::AllocOp>(op);
    known &= !isa<memref::AllocaOp, memref::CopyOp>(op) &&
             !pipeline::Attention::get(op);
  });
  known &= bytes <= kUsualShared;
  if (!known)
    return failure();
  int64_t columns = single || inner.empty() ? 1 : host::pointsOf(inner.front());
  for (linalg::LinalgOp op : inner) {
    if (op.hasDynamicShape())
      return failure();
    bool overlaps = llvm::any_of(op.getDpsInits(), [](Value init) {
      auto window = init.getDefiningOp<memref::SubViewOp>();
      return window && mayOverlap(window);
    });
    if (overlaps || !isElementByElement(op) || host::pointsOf(op) != columns)
      columns = 1;
  }
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
    writer.loop(host::pointsOf(linalgOp), {},
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
