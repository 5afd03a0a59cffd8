//===- ShardMoves.cpp - look-ups, and operations on partial sums ----------===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Sharder.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Transforms/RegionUtils.h"

namespace stagewright::pipeline {

Value lookedUpTable(linalg::LinalgOp op) {
  if (op->getNumResults() != 1 || op.getNumReductionLoops() != 0 ||
      op.hasDynamicShape() || op.getNumDpsInputs() != 0 ||
      op.payloadUsesValueFromOperand(op.getDpsInitOperand(0)))
    return {};
  auto read = op.getBlock()
                  ->getTerminator()
                  ->getOperand(0)
                  .getDefiningOp<tensor::ExtractOp>();
  Value table = read ? read.getTensor() : Value();
  bool isOutside = table && read->getBlock() == op.getBlock() &&
                   table.getParentBlock() != op.getBlock();
  return isOutside ? table : Value();
}

/// Copies a look-up in a table that is split along an indexed dimension: the
/// shard that has the row provides it, the others zeros.
bool Sharder::copyLookup(linalg::LinalgOp op) {
  Value table = lookedUpTable(op);
  if (!table || !layoutOf(table).isSplit() || layoutOf(table).outer != 1)
    return false;
  SetVector<Value> captured;
  getUsedValuesDefinedAbove(op->getRegions(), captured);
  SmallVector<Level> levels;
  for (Value value : captured)
    levels.push_back(levelOf(value, value != table));
  enter(*op, /*isSplit=*/true, levels);
  int64_t dim = layoutOf(table).dim;
  ChunkParts parts = chunkPartsOf(cast<RankedTensorType>(table.getType()),
                                  layoutOf(table), ways);
  SmallVector<Value> copies;
  for (int64_t shard = 0; shard < ways; ++shard) {
    Value part = entryOf(table).copies[shard];
    auto copied = cast<linalg::LinalgOp>(
        copyWith(*op, whole(op.getDpsInits()[0], shard), op->getResultTypes(),
                 shard, std::pair(table, part)));
    Operation *end = copied.getBlock()->getTerminator();
    auto own = end->getOperand(0).getDefiningOp<tensor::ExtractOp>();
    OpBuilder inside(own);
    Location loc = own.getLoc();
    auto number = [&](int64_t value) -> Value {
      return arith::ConstantIndexOp::create(inside, loc, value);
    };
    Value place = arith::SubIOp::create(inside, loc, own.getIndices()[dim],
                                        number(parts.start(shard)));
    // Unsigned, so that a negative index is out of range as well.
    Value has = arith::CmpIOp::create(inside, loc, arith::CmpIPredicate::ult,
                                      place, number(parts.sizeOf(shard)));
    Value there = arith::SelectOp::create(inside, loc, has, place, number(0));
    own.getIndicesMutable()[dim].set(there);
    inside.setInsertionPoint(end);
    Value zero = arith::ConstantOp::create(inside, loc,
                                           inside.getZeroAttr(own.getType()));
    end->setOperand(0, arith::SelectOp::create(inside, loc, has, own, zero));
    copies.push_back(copied->getResult(0));
  }
  set(op->getResult(0), Layout{Layout::Partial}, copies).isProduct = true;
  return true;
}

bool keepsPartial(linalg::LinalgOp op) {
  if (op->getNumResults() != 1 || op.hasDynamicShape())
    return false;
  int64_t inputs = op.getNumDpsInputs();
  Block *body = op.getBlock();
  Value yielded = body->getTerminator()->getOperand(0);
  Operation *add = yielded.getDefiningOp();
  // Partial sums that are rounded are sent in the narrow type, as frameworks
  // do.
  auto rounds = dyn_cast_or_null<arith::TruncFOp>(add);
  bool moves =
      inputs == 1 && (yielded == body->getArgument(0) ||
                      (rounds && rounds.getIn() == body->getArgument(0)));
  bool adds = add && isa<arith::AddFOp, arith::AddIOp>(add) && !body->empty() &&
              add == &body->front() &&
              llvm::all_of(add->getOperands(), [&](Value operand) {
                return isa<BlockArgument>(operand);
              });
  bool addsUp = adds && inputs == 1 && isSumFromZero(op, 0);
  bool addsBoth = adds && inputs == 2 && op.getNumReductionLoops() == 0 &&
                  add->getOperand(0) != add->getOperand(1) &&
                  !op.payloadUsesValueFromOperand(op.getDpsInitOperand(0));
  return moves || addsUp || addsBoth;
}

/// Whether one of `levels` is odd; -1 counts as odd. Partial sums of scattered
/// values, such as gradients of norms, stay at an even level.
bool Sharder::isOnSplitLevel(ArrayRef<Level> levels) {
  return llvm::any_of(levels, [](Level level) { return level.number % 2; });
}

bool Sharder::copyMoves(linalg::LinalgOp op) {
  SmallVector<OpOperand *> inputs = op.getDpsInputOperands();
  auto isPartial = [&](OpOperand *in) {
    return isa<RankedTensorType>(in->get().getType()) &&
           layoutOf(in->get()).kind == Layout::Partial;
  };
  bool partial = kept.contains(op)
                     ? llvm::any_of(inputs, isPartial)
                     : !inputs.empty() && llvm::all_of(inputs, isPartial);
  // If all inputs are whole already, there is no message to save.
  partial &= llvm::any_of(
      inputs, [&](OpOperand *in) { return entryOf(in->get()).boxed.empty(); });
  if (!partial || !keepsPartial(op))
    return false;
  SmallVector<Level> levels, ofPartial;
  for (OpOperand *input : inputs) {
    levels.push_back(
        levelOf(input->get(), layoutOf(input->get()).kind == Layout::Largest));
    if (isPartial(input))
      ofPartial.push_back(levels.back());
  }
  enter(*op, isOnSplitLevel(ofPartial), levels);
  SmallVector<Value> copies;
  for (int64_t shard = 0; shard < ways; ++shard)
    copies.push_back(addPartial(op, shard));
  bool isProduct = llvm::any_of(inputs, [&](OpOperand *input) {
    return entryOf(input->get()).isProduct;
  });
  set(op->getResult(0), Layout{Layout::Partial}, copies).isProduct = isProduct;
  return true;
}

} // namespace stagewright::pipeline
