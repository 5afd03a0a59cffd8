//===- Softmax.cpp - compare formulas with those of softmax ---------------===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Softmax.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "stagewright/Dialect/LLVM.h"
#include <cmath>

namespace stagewright::pipeline {

/// The term that a reduction combines with its accumulator: the other operand
/// of its last operation, which must be an `Op`; else null.
template <typename... Op> static Value termOf(linalg::LinalgOp op) {
  Block *body = op.getBlock();
  Operation *last = body->getTerminator()->getOperand(0).getDefiningOp();
  if (!last || !isa<Op...>(last))
    return {};
  Value carried = body->getArguments().back();
  if (last->getOperand(0) == carried)
    return last->getOperand(1);
  return last->getOperand(1) == carried ? last->getOperand(0) : Value();
}

/// Whether the initial value of `op` is filled with `start`.
static bool startsFrom(linalg::LinalgOp op, double start) {
  auto fill = op.getDpsInits()[0].getDefiningOp<linalg::FillOp>();
  return fill &&
         ElementFormulas().at(fill.getInputs()[0], {}).number() == start;
}

bool Softmax::addsMask() const {
  return mask && !getElementTypeOrSelf(mask.getType()).isInteger(1);
}

bool Softmax::inAllCases(llvm::function_ref<bool()> holds) {
  bool hides = causal || (mask && !addsMask());
  bool all = true;
  for (bool isDropped : {false, true})
    for (bool isHidden : {false, true}) {
      now = {isHidden, isDropped};
      if (all && (!isHidden || hides) && (!isDropped || keep))
        all = holds();
    }
  now = {};
  return all;
}

Formula Softmax::conditionAt(Value value, ArrayRef<int> place,
                             bool holds) const {
  bool isOwn = scores->indicesOf(value, place) ==
               scores->indicesOf(value, scores->axes.lookup(value));
  return isOwn ? Formula(holds ? 1 : 0) : Formula::unknown();
}

Formula Softmax::leaf(Quantity quantity, Value value, ArrayRef<int> place) {
  SmallVector<int64_t> name = scores->indicesOf(value, place);
  name.push_back(int64_t(quantity));
  return elements.formulas.leaf(name);
}

Formula Softmax::own(Quantity quantity) {
  Value full = scores->product->getResult(0);
  return leaf(quantity, full, scores->axes.lookup(full));
}

Formula Softmax::ofRow(Quantity quantity) {
  Value full = scores->product->getResult(0);
  SmallVector<int64_t> name =
      scores->indicesOf(full, scores->axes.lookup(full));
  name[size_t(keyDim)] = Scores::kAbsent;
  name.push_back(int64_t(quantity));
  return elements.formulas.leaf(name);
}

Formula Softmax::of(Value value) {
  return elements.at(value, scores->axes.lookup(value));
}

Formula Softmax::scaled() {
  Formula score = own(Quantity::Score);
  if (!cap)
    return Formula(scale) * score;
  return Formula(*cap) * elements.formulas.tanh(Formula(scale / *cap) * score);
}

Formula Softmax::slope() {
  if (!cap)
    return scale;
  Formula part = scaled() * Formula(1 / *cap);
  return Formula(scale) * (Formula(1) - part * part);
}

Formula Softmax::weight() {
  return elements.formulas.exp(of(masked) - ofRow(Quantity::Max));
}

Formula Softmax::product() {
  return weight() * own(Quantity::Weight) * Formula(now.isDropped ? 0 : 1);
}

bool Softmax::findReductions() {
  auto makeLeaf = [this](Value value, Quantity quantity) {
    elements.leaves[value] = [=, this](ArrayRef<int> place) {
      return leaf(quantity, value, place);
    };
  };
  makeLeaf(scores->product->getResult(0), Quantity::Score);
  if (scores->gradient)
    makeLeaf(scores->gradient->getResult(0), Quantity::Weight);
  for (const Looped &reduction : scores->reductions) {
    linalg::LinalgOp op = reduction.op;
    SmallVector<unsigned> over = widelySummed(op);
    // A sum over axes of extent 1 only.
    Value one = termOf<arith::AddFOp>(op);
    if (one && startsFrom(op, 0) && over.empty()) {
      AffineMap map = op.getMatchingIndexingMap(op.getDpsInitOperand(0));
      elements.leaves[op->getResult(0)] = [=, this](ArrayRef<int> place) {
        Axes loops(map.getNumDims(), -1);
        for (auto [i, index] : llvm::enumerate(place))
          loops[map.getDimPosition(unsigned(i))] = index;
        return elements.continueInBody(op, one, loops);
      };
      continue;
    }
    int dim = over.empty() ? -1 : reduction.loops[over[0]];
    if (dim < 0 || (keyDim >= 0 && dim != keyDim) ||
        llvm::is_contained(reduction.loops, -2))
      return false;
    keyDim = dim;
    if (Value term = termOf<arith::MaximumFOp, arith::MaxNumFOp>(op)) {
      auto argument = dyn_cast<BlockArgument>(term);
      if (masked || !argument || argument.getOwner() != op.getBlock() ||
          !startsFrom(op, -INFINITY))
        return false;
      masked = op->getOperand(argument.getArgNumber());
      maximum = op->getResult(0);
    } else if (termOf<arith::AddFOp>(op) && startsFrom(op, 0)) {
      sums.push_back(reduction);
    } else {
      return false;
    }
  }
  if (!masked || !scores->isFull(masked))
    return false;
  makeLeaf(maximum, Quantity::Max);
  return true;
}

/// Derives scale and cap from x without a bias.
bool Softmax::takeScale(const Formula &x) {
  Formula score = own(Quantity::Score);
  if (auto factor = elements.formulas.matchLeaf(x, score)) {
    scale = *factor;
  } else if (auto capped = elements.formulas.matchTanh(x)) {
    auto factor = elements.formulas.matchLeaf(capped->second, score);
    if (!factor || capped->first <= 0)
      return false;
    cap = capped->first;
    scale = *cap * *factor;
  }
  return scale != 0;
}

bool Softmax::checkScores() {
  Formula bias =
      addsMask() ? leaf(Quantity::Bias, mask, scores->axes.lookup(mask)) : 0;
  bool isScaled = inAllCases([&] {
    Formula x = of(masked);
    if (!now.isHidden)
      return (scale != 0 || takeScale(x - bias)) && x - bias == scaled();
    std::optional<double> number = x.number();
    if (!number || (fill && *fill != *number))
      return false;
    fill = number;
    return true;
  });
  // A score that the causal mask hides must have weight 0, because keys that no
  // query of a block sees are skipped.
  constexpr double kNothing = -1e4;
  return isScaled && !(causal && fill && *fill > kNothing);
}

bool Softmax::checkSums() {
  auto termOfSum = [this](const Looped &sum) {
    return elements.inBody(sum.op, termOf<arith::AddFOp>(sum.op), sum.loops);
  };
  bool total = false;
  SmallVector<Looped> rest;
  for (const Looped &sum : sums) {
    Value result = sum.op->getResult(0);
    if (!inAllCases([&] { return termOfSum(sum) == weight(); })) {
      rest.push_back(sum);
      continue;
    }
    elements.leaves[result] = [this, result](ArrayRef<int> place) {
      return leaf(Quantity::Sum, result, place);
    };
    total = true;
  }
  // The other sums must be of e dp, times a factor that depends on the row
  // only.
  for (const Looped &sum : rest) {
    std::optional<Formula> factor;
    auto isOfKey = [&](ArrayRef<int64_t> name) {
      return name[size_t(keyDim)] != Scores::kAbsent;
    };
    bool isProduct = inAllCases([&] {
      Formula term = termOfSum(sum), all = product();
      if (all.number() == 0)
        return term.number() == 0;
      Formula found = elements.formulas.divide(term, all);
      if (found.isUnknown() || elements.formulas.dependsOn(found, isOfKey) ||
          (factor && !(*factor == found)))
        return false;
      factor = found;
      return true;
    });
    if (!isProduct || !factor)
      return false;
    Value result = sum.op->getResult(0);
    elements.leaves[result] = [=, this, factor = *factor](ArrayRef<int> place) {
      return factor * conditionAt(result, place, true) *
             leaf(Quantity::Product, result, place);
    };
  }
  return total;
}

bool Softmax::agrees(Value value, bool gradient) {
  if (!scores->isFull(value))
    return false;
  return inAllCases([&] {
    Formulas &formulas = elements.formulas;
    Formula total = ofRow(Quantity::Sum), drops = now.isDropped ? 0 : 1;
    Formula expected = Formula(kept) * formulas.divide(weight(), total);
    if (!gradient)
      return of(value) == expected * drops;
    Formula ofWeight = drops * own(Quantity::Weight) -
                       formulas.divide(ofRow(Quantity::Product), total);
    return of(value) == expected * ofWeight * (now.isHidden ? 0 : slope());
  });
}

} // namespace stagewright::pipeline
