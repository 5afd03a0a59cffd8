//===- SumTrees.cpp - additions that may precede a sum over shards --------===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "SumTrees.h"
#include "Sharder.h"
#include "stagewright/Analysis/Rows.h"
#include "stagewright/Analysis/Work.h"

namespace stagewright::pipeline {

bool padsWithZero(tensor::PadOp op) {
  Value padding = op.getConstantPaddingValue();
  return op->getNumOperands() == 1 && padding && isZero(padding);
}

/// Max operations of a tree besides its root, and of a chain of moves: a file
/// may have trees of any size.
static constexpr unsigned kMostNodes = 1000, kMostMoves = 64;

SmallVector<Value> addendsOf(Operation &op) {
  // In a narrow type, a sum of shards that begins with a whole value would be
  // rounded to the precision of that value each time a part is added.
  auto isPossible = [](Type type) {
    auto tensor = dyn_cast<RankedTensorType>(type);
    auto element =
        tensor ? dyn_cast<FloatType>(tensor.getElementType()) : FloatType();
    return tensor && tensor.hasStaticShape() &&
           (!element || element.getWidth() >= 32);
  };
  if (!llvm::all_of(op.getOperandTypes(), isPossible) ||
      !llvm::all_of(op.getResultTypes(), isPossible))
    return {};
  if (auto structured = dyn_cast<linalg::LinalgOp>(op)) {
    SmallVector<Value> inputs = structured.getDpsInputs();
    // A sum that is rounded differs from a sum of rounded parts.
    bool rounds = inputs.size() == 1 &&
                  !isa<BlockArgument>(
                      structured.getBlock()->getTerminator()->getOperand(0));
    return keepsPartial(structured) && !rounds &&
                   structured.getNumReductionLoops() == 0
               ? inputs
               : SmallVector<Value>();
  }
  auto pad = dyn_cast<tensor::PadOp>(op);
  bool isMove = isShapeOp(op) && op.getNumOperands() == 1;
  return isMove && (!pad || padsWithZero(pad))
             ? SmallVector<Value>{op.getOperand(0)}
             : SmallVector<Value>();
}

/// Whether `value` is a sum over loops or the result of a look-up, or is moved
/// from one.
static bool canBePartial(Value value) {
  for (unsigned moves = 0; moves <= kMostMoves; ++moves) {
    Operation *op = value.getDefiningOp();
    auto structured = dyn_cast_or_null<linalg::LinalgOp>(op);
    if (structured &&
        (structured.getNumReductionLoops() > 0 || lookedUpTable(structured)))
      return true;
    SmallVector<Value> from = op ? addendsOf(*op) : SmallVector<Value>();
    if (from.size() != 1)
      return false;
    value = from.front();
  }
  return false;
}

bool growsBehind(Value value) {
  SmallVector<Value> open{value};
  for (unsigned moves = 0; moves < kMostMoves && !open.empty(); ++moves) {
    Value moved = open.pop_back_val();
    for (Operation *user : moved.getUsers()) {
      if (addendsOf(*user).size() != 1 || isa<tensor::PadOp>(user))
        continue;
      if (bytesOf(user->getResult(0).getType()) > bytesOf(moved.getType()))
        return true;
      open.push_back(user->getResult(0));
    }
  }
  return !open.empty();
}

SumTrees::SumTrees(Block &block, const Groups &groups) {
  DenseSet<Operation *> seen;
  for (Operation &op : llvm::reverse(block.without_terminator())) {
    if (seen.contains(&op) || addendsOf(op).size() != 2)
      continue;
    SmallVector<Operation *> inner, open{&op};
    unsigned partial = 0, all = 0;
    while (!open.empty() && inner.size() <= kMostNodes)
      for (Value value : addendsOf(*open.pop_back_val())) {
        Operation *next = value.getDefiningOp();
        if (next && value.hasOneUse() && !addendsOf(*next).empty() &&
            groups.lookup(next) == groups.lookup(&op)) {
          inner.push_back(next);
          open.push_back(next);
          continue;
        }
        ++all;
        partial += canBePartial(value);
      }
    seen.insert(inner.begin(), inner.end());
    if (partial > 1 && all > 2 && inner.size() <= kMostNodes)
      for (Operation *next : inner)
        rootOf[next] = &op;
  }
}

} // namespace stagewright::pipeline
