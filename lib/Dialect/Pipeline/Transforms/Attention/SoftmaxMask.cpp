//===- SoftmaxMask.cpp - how scores are masked ----------------------------===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "CausalMask.h"
#include "Softmax.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "stagewright/Dialect/LLVM.h"
#include <map>

namespace stagewright::pipeline {

bool Softmax::findQueries() {
  // Candidates are the dimensions that only one operand of the product has,
  // except the key dimension. The longest is taken, unless a causal mask shows
  // which it is.
  linalg::LinalgOp product = scores->product;
  Axes loops = scores->loopsOf(product);
  llvm::SmallBitVector shared(scores->rank, true);
  for (OpOperand *input : product.getDpsInputOperands()) {
    llvm::SmallBitVector has(scores->rank);
    for (AffineExpr expr : product.getMatchingIndexingMap(input).getResults())
      if (auto dim = dyn_cast<AffineDimExpr>(expr))
        if (int of = loops[dim.getPosition()]; of >= 0)
          has.set(unsigned(of));
    shared &= has;
  }
  auto shape =
      cast<RankedTensorType>(product->getResult(0).getType()).getShape();
  for (int dim = 0; dim < int(scores->rank); ++dim)
    if (!shared[dim] && dim != keyDim)
      queryDims.push_back(dim);
  for (int dim : queryDims)
    if (queryDim < 0 || shape[dim] >= shape[queryDim])
      queryDim = dim;
  return queryDim >= 0;
}

/// How an operation masks scores: by a condition that keeps them (or, if
/// `negated`, hides them), or by numbers that are added.
struct Masking {
  linalg::LinalgOp op; ///< whose body has the values; null: they are tensors
  Value condition, added;
  bool negated = false;

  /// The operand for an argument of the body; null for other values.
  Value tensorOf(Value value) const {
    if (!op)
      return value;
    auto argument = dyn_cast<BlockArgument>(value);
    return argument && argument.getOwner()->getParentOp() == op
               ? op->getOperand(argument.getArgNumber())
               : Value();
  }
};

/// The maskings in the operation that defines `value`.
static SmallVector<Masking> maskingsOf(const Scores &scores, Value value) {
  SmallVector<Masking> found;
  linalg::LinalgOp op = parallelOf(value);
  auto isMade = [&](Value inner) {
    Value tensor = Masking{op, {}, {}}.tensorOf(inner);
    return tensor && scores.made.contains(tensor);
  };
  auto look = [&](Operation &inner) {
    if (auto select = dyn_cast<arith::SelectOp>(inner)) {
      found.push_back(
          {op, select.getCondition(), {}, isMade(select.getFalseValue())});
    } else if (isa<arith::AddFOp, arith::SubFOp>(inner)) {
      Value a = inner.getOperand(0), b = inner.getOperand(1);
      found.push_back({op, {}, isMade(a) ? b : a});
    }
  };
  if (op)
    llvm::for_each(*op.getBlock(), look);
  else
    look(*value.getDefiningOp());
  return found;
}

bool Softmax::takeMask(const Masking &masking) {
  if (!masking.condition) {
    mask = masking.tensorOf(masking.added);
    return bool(mask);
  }
  Value tensor = masking.tensorOf(masking.condition);
  Axes dims = masking.op ? scores->loopsOf(masking.op)
                         : scores->axes.lookup(masking.condition);
  for (int dim : queryDims)
    if (matchCausal(masking.op, masking.condition, dims, dim, keyDim) ==
        !masking.negated) {
      causal = true;
      queryDim = dim;
      return true;
    }
  mask = tensor;
  return tensor && !masking.negated;
}

bool Softmax::findMask() {
  // Search the operations from x back to s.
  SmallVector<Value> todo = {masked};
  llvm::SmallDenseSet<Value> seen;
  SmallVector<Masking> found;
  while (!todo.empty()) {
    Value value = todo.pop_back_val();
    if (!seen.insert(value).second || !scores->made.contains(value) ||
        value == scores->product->getResult(0))
      continue;
    llvm::append_range(todo, value.getDefiningOp()->getOperands());
    llvm::append_range(found, maskingsOf(*scores, value));
  }
  if (found.size() > 1 || (!found.empty() && !takeMask(found[0])) ||
      (mask && !scores->axes.contains(mask)))
    return false;
  if (mask)
    elements.leaves[mask] = [this](ArrayRef<int> place) {
      return addsMask() ? leaf(Quantity::Bias, mask, place)
                        : conditionAt(mask, place, !now.isHidden);
    };
  // A causal mask may be computed again, for the gradient.
  if (causal)
    elements.condition =
        [this,
         known = std::map<std::pair<void *, Axes>, std::optional<bool>>()](
            linalg::LinalgOp op, Value condition,
            ArrayRef<int> dims) mutable -> std::optional<bool> {
      auto [found, isNew] =
          known.try_emplace({condition.getAsOpaquePointer(), Axes(dims)});
      if (isNew)
        found->second = matchCausal(op, condition, dims, queryDim, keyDim);
      return found->second ? std::optional(*found->second != now.isHidden)
                           : std::nullopt;
    };
  return true;
}

} // namespace stagewright::pipeline
