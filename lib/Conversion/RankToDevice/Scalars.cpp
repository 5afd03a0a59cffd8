//===- Scalars.cpp - numbers in the memory of a device --------------------===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Scalars.h"

#include "RowWriter.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Arith/Utils/Utils.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Linalg/Utils/Utils.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"

namespace stagewright::device {

namespace {

/// Whether `op`, or an operation in it, writes to the buffer `root`.
bool writesTo(Operation &op, Value root) {
  auto result = op.walk([&](Operation *inner) {
    auto effects = dyn_cast<MemoryEffectOpInterface>(inner);
    SmallVector<MemoryEffects::EffectInstance> list;
    if (effects)
      effects.getEffects(list);
    bool writes = llvm::any_of(list, [&](const auto &effect) {
      return isa<MemoryEffects::Write>(effect.getEffect()) &&
             effect.getValue() && rootOf(effect.getValue()) == root;
    });
    return writes ? WalkResult::interrupt() : WalkResult::advance();
  });
  return result.wasInterrupted();
}

/// The element of an array as an array of rank 0.
Value elementAt(OpBuilder &builder, Location loc, Value array,
                ValueRange indices) {
  auto type = cast<MemRefType>(array.getType());
  SmallVector<OpFoldResult> ones(size_t(type.getRank()),
                                 builder.getIndexAttr(1)),
      offsets = getAsOpFoldResult(indices);
  MemRefType part = memref::SubViewOp::inferRankReducedResultType(
      {}, type, offsets, ones, ones);
  return memref::SubViewOp::create(builder, loc, part, array, offsets, ones,
                                   ones);
}

} // namespace

bool movesAtRunTime(Value view) {
  auto [strides, offset] =
      cast<MemRefType>(view.getType()).getStridesAndOffset();
  return ShapedType::isDynamic(offset);
}

void makeLoops(Block &body) {
  for (Operation &op : llvm::make_early_inc_range(body)) {
    auto copy = dyn_cast<memref::CopyOp>(op);
    if (isa<memref::StoreOp>(op) ||
        (copy && (movesAtRunTime(copy.getSource()) ||
                  movesAtRunTime(copy.getTarget()))))
      makeLoop(&op);
  }
}

void writeProduct(OpBuilder &builder, rank::ContractOp op) {
  Location loc = op.getLoc();
  Value written = op.getWritten();
  Type type = getElementTypeOrSelf(written);
  if (op.overwrites()) {
    Value zero =
        arith::ConstantOp::create(builder, loc, builder.getZeroAttr(type));
    linalg::FillOp::create(builder, loc, zero, written);
  }
  SmallVector<AffineMap> maps = op.getMaps();
  SmallVector<utils::IteratorType> loops;
  for (unsigned loop = 0; loop < maps[0].getNumDims(); ++loop)
    loops.push_back(maps[2].isFunctionOfDim(loop)
                        ? utils::IteratorType::parallel
                        : utils::IteratorType::reduction);
  linalg::GenericOp::create(
      builder, loc, ValueRange{op.getLhs(), op.getRhs()}, written, maps, loops,
      [&](OpBuilder &b, Location l, ValueRange args) {
        auto widen = [&](Value value) {
          return convertScalarToDtype(b, l, value, type, /*isUnsigned=*/false);
        };
        Value product =
            arith::MulFOp::create(b, l, widen(args[0]), widen(args[1]));
        Value sum = arith::AddFOp::create(b, l, args[2], product);
        linalg::YieldOp::create(b, l, sum);
      });
}

void makeLoop(Operation *op) {
  OpBuilder builder(op);
  if (auto copy = dyn_cast<memref::CopyOp>(op)) {
    linalg::makeMemRefCopyOp(builder, op->getLoc(), copy.getSource(),
                             copy.getTarget());
  } else if (auto store = dyn_cast<memref::StoreOp>(op)) {
    linalg::FillOp::create(builder, op->getLoc(), store.getValueToStore(),
                           elementAt(builder, op->getLoc(), store.getMemRef(),
                                     store.getIndices()));
  } else if (auto product = dyn_cast<rank::ContractOp>(op)) {
    writeProduct(builder, product);
  } else {
    return;
  }
  op->erase();
}

void keepScalars(Block &body) {
  SmallVector<memref::LoadOp> loads(body.getOps<memref::LoadOp>());
  for (memref::LoadOp load : loads) {
    Value root = rootOf(load.getMemRef());
    bool written = false;
    for (Operation *op = load->getNextNode(); op && !written;
         op = op->getNextNode())
      written = writesTo(*op, root);
    if (!written)
      continue;
    OpBuilder builder(load);
    Location loc = load.getLoc();
    Value element =
        elementAt(builder, loc, load.getMemRef(), load.getIndices());
    auto single = cast<MemRefType>(element.getType()).getElementType();
    Value kept =
        memref::AllocOp::create(builder, loc, MemRefType::get({}, single));
    memref::CopyOp::create(builder, loc, element, kept);
    Value read = memref::LoadOp::create(builder, loc, kept);
    load->replaceAllUsesWith(ValueRange{read});
    load.erase();
  }
}

LogicalResult removeScalars(Block &body) {
  for (Operation &op : llvm::make_early_inc_range(llvm::reverse(body)))
    if (op.use_empty() && op.getNumResults() > 0 &&
        (isPure(&op) || isa<memref::LoadOp>(op)))
      op.erase();
  for (auto load : body.getOps<memref::LoadOp>()) {
    Operation *user = *load->user_begin();
    while (isPure(user) && !user->use_empty())
      user = *user->user_begin();
    return load.emitError()
           << "a number that is computed on the GPU decides what '"
           << user->getName() << "' reads or writes, which only kernels "
           << "support; the target 'host' compiles this step";
  }
  return success();
}

} // namespace stagewright::device
