//===- SumTrees.cpp - additions that may be done before a sum ------------===//
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

SmallVector<Value> addendsOf(Operation &op) {
  auto isStatic = [](Type type) {
    auto tensor = dyn_cast<RankedTensorType>(type);
    return tensor && tensor.hasStaticShape();
  };
  if (!llvm::all_of(op.getOperandTypes(), isStatic) ||
      !llvm::all_of(op.getResultTypes(), isStatic))
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
  Operation *op = value.getDefiningOp();
  auto structured = dyn_cast_or_null<linalg::LinalgOp>(op);
  if (structured && (structured.getNumReductionLoops() > 0 ||
                     lookedUpTable(structured)))
    return true;
  SmallVector<Value> from = op ? addendsOf(*op) : SmallVector<Value>();
  return from.size() == 1 && canBePartial(from.front());
}

bool growsBehind(Value value) {
  return llvm::any_of(value.getUsers(), [&](Operation *user) {
    SmallVector<Value> from = addendsOf(*user);
    return from.size() == 1 && !isa<tensor::PadOp>(user) &&
           (bytesOf(user->getResult(0).getType()) > bytesOf(value.getType()) ||
            growsBehind(user->getResult(0)));
  });
}

SumTrees::SumTrees(Block &block) {
  DenseSet<Operation *> seen;
  for (Operation &op : llvm::reverse(block.without_terminator())) {
    if (seen.contains(&op) || addendsOf(op).size() != 2)
      continue;
    SmallVector<Operation *> inner, open{&op};
    unsigned partial = 0, all = 0;
    while (!open.empty())
      for (Value value : addendsOf(*open.pop_back_val())) {
        Operation *next = value.getDefiningOp();
        if (next && value.hasOneUse() && !addendsOf(*next).empty()) {
          inner.push_back(next);
          open.push_back(next);
          continue;
        }
        ++all;
        partial += canBePartial(value);
      }
    seen.insert(inner.begin(), inner.end());
    if (partial > 1 && all > 2)
      for (Operation *next : inner)
        rootOf[next] = &op;
  }
}

} // namespace stagewright::pipeline
