//===- MatchAttention.cpp - recognise attention ---------------------------===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "MatchAttention.h"
#include "Softmax.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "stagewright/Dialect/LLVM.h"

namespace stagewright::pipeline {
namespace {

class Matcher {
public:
  Matcher(const Scores &scores, Softmax &softmax)
      : scores(scores), softmax(softmax) {
    for (int dim = 0; dim < int(scores.rank); ++dim)
      if (dim != softmax.queryDim && dim != softmax.keyDim)
        place.push_back(dim);
    match.batches = unsigned(place.size());
    place.append({softmax.queryDim, softmax.keyDim});
  }

  std::optional<AttentionMatch> run() {
    match.scale = softmax.scale;
    match.cap = softmax.cap;
    match.causal = softmax.causal;
    match.fill = softmax.causal ? std::nullopt : softmax.fill;
    if (softmax.mask) {
      match.mask = source(maskAs(softmax.mask), /*keepsUnits=*/false);
      if (!match.mask->value)
        return std::nullopt;
    }
    if (softmax.keep) {
      match.keep = source(maskAs(softmax.keep), /*keepsUnits=*/false);
      match.kept = softmax.kept;
      if (!match.keep->value)
        return std::nullopt;
    }
    if (!takeProduct() || !llvm::all_of(scores.uses, [&](Scores::Use use) {
          return takeUse(use);
        }))
      return std::nullopt;
    bool backward = match.dQuery && match.dKey && match.dValue;
    if (bool(scores.gradient) != backward ||
        backward != (match.dQuery || match.dKey || match.dValue) ||
        (!backward && !match.output) || (backward && !takeWeightGradient()))
      return std::nullopt;
    return match;
  }

private:
  enum Wide { Width, ValueWidth };

  /// `value`, an operand or result of the product `op`, with the map from the
  /// dimensions of attention to its axes. The one loop that is no dimension of
  /// the scores is `wide`. Null if there are several such loops.
  Indexed indexed(linalg::LinalgOp op, Value value, AffineMap map,
                  const Axes &loops, Wide wide) {
    MLIRContext *context = op.getContext();
    SmallVector<AffineExpr> results;
    for (AffineExpr expr : map.getResults()) {
      auto loop = dyn_cast<AffineDimExpr>(expr);
      if (!loop)
        return {};
      int dim = loops[loop.getPosition()];
      auto *at = llvm::find(place, dim);
      if (dim < 0 && llvm::count_if(loops, [](int d) { return d < 0; }) != 1)
        return {};
      if (dim >= 0 && at == place.end())
        return {};
      results.push_back(
          getAffineDimExpr(dim < 0 ? match.batches + 2 + unsigned(wide)
                                   : unsigned(at - place.begin()),
                           context));
    }
    return {value, AffineMap::get(match.batches + 4, 0, results, context)};
  }

  Indexed operandOf(linalg::LinalgOp op, unsigned number, const Axes &loops,
                    Wide wide) {
    OpOperand &operand = op->getOpOperand(number);
    return source(indexed(op, operand.get(),
                          op.getMatchingIndexingMap(&operand), loops, wide),
                  /*keepsUnits=*/true);
  }

  /// The value from which `of` is copied. Looks through permutations and casts
  /// to wider types, which a kernel does as it reads, and, without `keepsUnits`
  /// (for masks), through broadcasts. With `keepsUnits` no dimension of
  /// attention is lost, even if its extent is 1 (a group of one query).
  static Indexed source(Indexed of, bool keepsUnits) {
    Indexed best = of;
    while (of.value) {
      if (of.map.isProjectedPermutation(/*allowZeroInResults=*/!keepsUnits))
        best = of;
      if (auto expand = of.value.getDefiningOp<tensor::ExpandShapeOp>()) {
        of = beforeUnits(expand, of.map, keepsUnits);
        continue;
      }
      linalg::LinalgOp copy = parallelOf(of.value);
      if (!copy || copy.getNumDpsInputs() != 1)
        break;
      Value yielded = copy.getBlock()->getTerminator()->getOperand(0);
      if (auto widen = yielded.getDefiningOp<arith::ExtFOp>())
        yielded = widen.getIn();
      if (yielded != copy.getBlock()->getArgument(0))
        break;
      AffineMap in = copy.getMatchingIndexingMap(copy.getDpsInputOperand(0));
      AffineMap out = copy.getMatchingIndexingMap(copy.getDpsInitOperand(0));
      // of.map: space -> axes; the inverse of out: axes -> loops.
      of = {copy.getDpsInputs()[0],
            in.compose(inversePermutation(out)).compose(of.map)};
    }
    return best;
  }

  /// The source of `expand` if that only adds axes of extent 1, with
  /// `keepsUnits` none that is a dimension of attention; else null.
  static Indexed beforeUnits(tensor::ExpandShapeOp expand, AffineMap map,
                             bool keepsUnits) {
    SmallVector<AffineExpr> results;
    for (ReassociationIndices &group : expand.getReassociationIndices()) {
      auto wide = llvm::make_filter_range(group, [&](int64_t axis) {
        return expand.getResultType().getDimSize(axis) != 1;
      });
      bool isLost = llvm::any_of(group, [&](int64_t axis) {
        return expand.getResultType().getDimSize(axis) == 1 &&
               isa<AffineDimExpr>(map.getResult(unsigned(axis)));
      });
      if (llvm::range_size(wide) > 1 || (keepsUnits && isLost))
        return {};
      results.push_back(wide.empty()
                            ? getAffineConstantExpr(0, map.getContext())
                            : map.getResult(unsigned(*wide.begin())));
    }
    return {expand.getSrc(),
            AffineMap::get(map.getNumDims(), 0, results, map.getContext())};
  }

  /// The result of `op`, or, if its only readers permute or round it, the last
  /// of their results.
  Indexed resultOf(linalg::LinalgOp op, const Axes &loops, Wide wide) {
    Indexed of = indexed(op, op->getResult(0),
                         op.getMatchingIndexingMap(op.getDpsInitOperand(0)),
                         loops, wide);
    while (of.value && of.value.hasOneUse()) {
      auto user = dyn_cast<linalg::LinalgOp>(*of.value.user_begin());
      if (!user || user->getNumResults() != 1 || user.getNumDpsInputs() != 1 ||
          !parallelOf(user->getResult(0)) || user.getDpsInputs()[0] != of.value)
        break;
      Value yielded = user.getBlock()->getTerminator()->getOperand(0);
      if (auto round = yielded.getDefiningOp<arith::TruncFOp>())
        yielded = round.getIn();
      AffineMap in = user.getMatchingIndexingMap(user.getDpsInputOperand(0));
      AffineMap out = user.getMatchingIndexingMap(user.getDpsInitOperand(0));
      if (yielded != user.getBlock()->getArgument(0) || !in.isPermutation())
        break;
      of = {user->getResult(0),
            out.compose(inversePermutation(in)).compose(of.map)};
    }
    return of;
  }

  Indexed maskAs(Value value) {
    SmallVector<AffineExpr> results;
    for (int dim : scores.axes.lookup(value)) {
      auto *at = llvm::find(place, dim);
      results.push_back(at == place.end()
                            ? getAffineConstantExpr(0, value.getContext())
                            : getAffineDimExpr(unsigned(at - place.begin()),
                                               value.getContext()));
    }
    return {value,
            AffineMap::get(match.batches + 4, 0, results, value.getContext())};
  }

  unsigned queryPlace() const { return match.batches; }
  unsigned keyPlace() const { return match.batches + 1; }

  /// Matches the product that makes the scores: its operands are query and key.
  bool takeProduct() {
    linalg::LinalgOp op = scores.product;
    if (op.getNumDpsInputs() != 2)
      return false;
    Axes loops = scores.loopsOf(op);
    for (unsigned i = 0; i < 2; ++i) {
      Indexed of = operandOf(op, i, loops, Width);
      if (!of.value)
        return false;
      (of.map.isFunctionOfDim(keyPlace()) ? match.key : match.query) = of;
    }
    return match.query.value && match.key.value &&
           match.query.map.isFunctionOfDim(queryPlace());
  }

  static bool same(const Indexed &a, const Indexed &b) {
    return a.value == b.value && a.map == b.map;
  }

  /// Sets `known` to `of` if it is not set yet; else compares the two.
  static bool agree(Indexed &known, const Indexed &of) {
    if (!known.value)
      known = of;
    return of.value && same(known, of);
  }

  /// Matches a product with the weights or with the gradient of the scores.
  bool takeUse(Scores::Use use) {
    linalg::LinalgOp op = use.op;
    Value left = op->getOperand(use.operand);
    if (op.getNumDpsInputs() != 2 || !scores.isFull(left))
      return false;
    bool weights = softmax.isWeights(left);
    if (!weights && !(scores.gradient && softmax.isGradient(left)))
      return false;
    Axes loops = scores.loopsOf(op);
    bool sumsKeys = false;
    SmallVector<unsigned> over;
    op.getReductionDims(over);
    for (unsigned loop : over)
      sumsKeys |= loops[loop] == softmax.keyDim;
    Wide wide = weights ? ValueWidth : Width;
    Indexed right = operandOf(op, 1 - use.operand, loops, wide);
    Indexed result = resultOf(op, loops, wide);
    if (!right.value || !result.value)
      return false;
    std::optional<Indexed> &made = weights
                                       ? sumsKeys ? match.output : match.dValue
                                   : sumsKeys ? match.dQuery
                                              : match.dKey;
    if (made)
      return false;
    made = result;
    if (weights && !sumsKeys) {
      match.dOutput = right;
      return true;
    }
    return agree(weights    ? match.value
                 : sumsKeys ? match.key
                            : match.query,
                 right);
  }

  /// Matches the product that makes the gradient of the weights: its operands
  /// are the gradient of the output and the value.
  bool takeWeightGradient() {
    linalg::LinalgOp op = scores.gradient;
    if (op.getNumDpsInputs() != 2 || !match.dOutput)
      return false;
    Axes loops = scores.loopsOf(op);
    for (unsigned i = 0; i < 2; ++i) {
      Indexed of = operandOf(op, i, loops, ValueWidth);
      if (!of.value)
        return false;
      if (!agree(of.map.isFunctionOfDim(keyPlace()) ? match.value
                                                    : *match.dOutput,
                 of))
        return false;
    }
    return match.value.value != nullptr;
  }

  const Scores &scores;
  Softmax &softmax;
  AttentionMatch match;
  SmallVector<int> place; ///< by dimension of the space: that of the scores
};

} // namespace

std::optional<AttentionMatch> matchAttention(const Scores &scores,
                                             std::string &why) {
  why = "what is computed from its scores is not a softmax over keys of scaled "
        "and masked scores, with or without a cap by tanh and dropout by a "
        "condition";
  if (scores.rank < 2 || scores.reductions.empty() || scores.uses.empty())
    return std::nullopt;
  Softmax softmax(scores);
  if (!softmax.match())
    return std::nullopt;
  why = "the products with its weights are not those of attention and of its "
        "gradient";
  return Matcher(scores, softmax).run();
}

} // namespace stagewright::pipeline
