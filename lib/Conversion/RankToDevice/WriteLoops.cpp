//===- WriteLoops.cpp - loops with data-dependent indices -----------------===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A loop in which each iteration writes a row. Every thread runs the whole loop
// for one column, so updates of one element keep their order. A loop that reads
// and writes single elements is run by one thread. Most scatters are written by
// WriteScatters.cpp instead, which needs fewer iterations per thread.
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

LogicalResult writeLoops(ThreadWriter &writer, func::FuncOp kernel) {
  SmallVector<linalg::LinalgOp> inner;
  bool single = false, known = true;
  kernel.walk([&](Operation *op) {
    if (auto linalgOp = dyn_cast<linalg::LinalgOp>(op))
      inner.push_back(linalgOp);
    single |= isa<memref::StoreOp>(op);
    known &= !isa<memref::AllocOp, memref::AllocaOp, memref::CopyOp>(op) &&
             !pipeline::Attention::get(op);
  });
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
