//===- SoftmaxDropout.cpp - which weights dropout keeps -------------------===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Softmax.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "stagewright/Dialect/LLVM.h"

namespace stagewright::pipeline {

/// Max depth to which a factor is traced back to the condition of dropout.
constexpr unsigned kConditionDepth = 8;

/// The operand of `value`, if that is an argument of a linalg body; else
/// `value`.
static Value tensorOf(Value value) {
  auto argument = dyn_cast<BlockArgument>(value);
  auto op = argument
                ? dyn_cast<linalg::LinalgOp>(argument.getOwner()->getParentOp())
                : linalg::LinalgOp();
  return op ? op->getOperand(argument.getArgNumber()) : value;
}

/// The i1 tensor that `value` is computed from, element by element: a factor
/// may be the condition, converted to a number and divided. Null if there is
/// none.
static Value conditionBehind(Value value, unsigned depth = kConditionDepth) {
  value = tensorOf(value);
  if (getElementTypeOrSelf(value.getType()).isInteger(1))
    return isa<RankedTensorType>(value.getType()) ? value : Value();
  if (depth == 0)
    return {};
  Operation *maker = value.getDefiningOp();
  if (linalg::LinalgOp op = parallelOf(value)) {
    Value yielded = op.getBlock()->getTerminator()->getOperand(
        cast<OpResult>(value).getResultNumber());
    maker = yielded.getDefiningOp();
    if (!maker) // A copy, such as a broadcast.
      return conditionBehind(yielded, depth - 1);
  }
  if (maker && maker->getNumRegions() == 0 &&
      OpTrait::hasElementwiseMappableTraits(maker))
    for (Value operand : maker->getOperands())
      if (Value found = conditionBehind(operand, depth - 1))
        return found;
  return {};
}

bool Softmax::findKeep() {
  llvm::SmallDenseSet<Value> found;
  for (const Scores::Use &use : scores->uses) {
    Value last = use.op->getOperand(use.operand);
    llvm::SmallDenseSet<Value> seen, behind;
    SmallVector<Value> todo = {last};
    while (!todo.empty()) {
      Value value = todo.pop_back_val();
      if (value == masked || !scores->made.contains(value) ||
          !seen.insert(value).second)
        continue;
      Operation *maker = value.getDefiningOp();
      llvm::append_range(todo, maker->getOperands());
      auto look = [&](Operation *op) {
        auto isMade = [&](Value operand) {
          return scores->made.contains(tensorOf(operand));
        };
        Value factor;
        if (auto select = dyn_cast<arith::SelectOp>(op))
          factor = select.getCondition();
        else if (isa<arith::MulFOp>(op))
          for (Value operand : op->getOperands())
            if (isa<BlockArgument>(operand) ||
                isa<RankedTensorType>(operand.getType()))
              factor = isMade(operand) ? factor : operand;
        if (Value condition = factor ? conditionBehind(factor) : Value())
          behind.insert(condition);
      };
      maker->walk(look);
    }
    // Dropout is also applied to gradients. A value computed from one is no
    // weight.
    if (scores->gradient && seen.contains(scores->gradient->getResult(0)))
      continue;
    dropped = last;
    found.insert(behind.begin(), behind.end());
  }
  if (found.size() > 1)
    return false;
  if (found.empty())
    return true;
  keep = *found.begin();
  elements.leaves[keep] = [this](ArrayRef<int> place) {
    return conditionAt(keep, place, !now.isDropped);
  };
  return scores->axes.contains(keep);
}

bool Softmax::findKept() {
  if (!keep)
    return true;
  if (!scores->isFull(dropped))
    return false;
  std::optional<double> factor =
      elements.formulas.divide(of(dropped) * ofRow(Quantity::Sum), weight())
          .number();
  kept = factor.value_or(0);
  return kept > 0;
}

} // namespace stagewright::pipeline
