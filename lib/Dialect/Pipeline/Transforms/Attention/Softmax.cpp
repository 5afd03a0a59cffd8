//===- Softmax.cpp - compare values with softmax at samples ---------------===//
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

constexpr int kSamples = 12;

/// Equal up to rounding, for example of a constant stored twice in 16 bits.
static bool isNear(double a, double b) {
  return std::fabs(a - b) <= 1e-5 * std::max(std::fabs(a), std::fabs(b)) + 1e-9;
}

/// The term of a reduction: the operand of its last operation, which must be an
/// `Op`, other than the accumulator; else null.
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
  std::optional<double> number =
      fill ? Evaluator().at(fill.getInputs()[0], {}) : std::nullopt;
  return number && *number == start;
}

SmallVector<Place> Softmax::samples() const {
  auto shape = cast<RankedTensorType>(scores->product->getResult(0).getType())
                   .getShape();
  SmallVector<Place> places;
  for (int64_t number = 0; number < kSamples; ++number) {
    Place place;
    for (auto [dim, extent] : llvm::enumerate(shape))
      place.push_back(int64_t((numberAt(Where, {number, int64_t(dim)}) - 0.5) *
                              double(extent)));
    // The first three: below the diagonal, on it and above.
    int64_t last = std::min(shape[queryDim], shape[keyDim]) - 1;
    if (number < 3) {
      place[queryDim] = std::min(place[queryDim], last);
      place[keyDim] =
          std::clamp<int64_t>(place[queryDim] + number - 1, 0, last);
    }
    places.push_back(std::move(place));
  }
  return places;
}

std::optional<double> Softmax::valueAt(Value value, ArrayRef<int64_t> at) {
  return evaluator.at(value, scores->placeIn(value, at));
}

std::optional<double> Softmax::maskedAt(ArrayRef<int64_t> at, double given) {
  score = given;
  std::optional<double> number = valueAt(masked, at);
  score.reset();
  return number;
}

static Place rowOf(ArrayRef<int64_t> at, int keyDim) {
  Place row(at);
  row[size_t(keyDim)] = -1;
  return row;
}

double Softmax::scaled(double score) const {
  return cap ? *cap * std::tanh(scale * score / *cap) : scale * score;
}

double Softmax::slope(double score) const {
  double part = cap ? std::tanh(scale * score / *cap) : 0;
  return scale * (1 - part * part);
}

double Softmax::keptAt(ArrayRef<int64_t> at) const {
  if (!keep)
    return 1;
  Place place = scores->scoresAt(keep, scores->placeIn(keep, at));
  return numberAt(Keep, place) < 1 ? 1 : 0;
}

/// exp(x - m).
std::optional<double> Softmax::weightAt(ArrayRef<int64_t> at) {
  std::optional<double> x = valueAt(masked, at);
  if (!x)
    return std::nullopt;
  return std::exp(*x - numberAt(Max, rowOf(at, keyDim)));
}

std::optional<double> Softmax::productAt(ArrayRef<int64_t> at) {
  std::optional<double> e = weightAt(at);
  return e ? std::optional(*e * numberAt(Weight, at) * keptAt(at))
           : std::nullopt;
}

bool Softmax::findReductions() {
  evaluator.leaves[scores->product->getResult(0)] =
      [this](ArrayRef<int64_t> at) {
        return score ? *score : numberAt(Score, at);
      };
  if (scores->gradient) {
    Value weights = scores->gradient->getResult(0);
    evaluator.leaves[weights] = [this, weights](ArrayRef<int64_t> at) {
      return numberAt(Weight, scores->scoresAt(weights, at));
    };
  }
  for (const Looped &reduction : scores->reductions) {
    linalg::LinalgOp op = reduction.op;
    SmallVector<unsigned> over = widelySummed(op);
    // A sum over axes of extent 1 only.
    Value one = termOf<arith::AddFOp>(op);
    if (one && startsFrom(op, 0) && over.empty()) {
      AffineMap map = op.getMatchingIndexingMap(op.getDpsInitOperand(0));
      evaluator.leaves[op->getResult(0)] = [=, this](ArrayRef<int64_t> place) {
        Place loops(map.getNumDims(), 0);
        for (auto [i, index] : llvm::enumerate(place))
          loops[map.getDimPosition(unsigned(i))] = index;
        return evaluator.inBody(op, one, loops);
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
  evaluator.leaves[maximum] = [this](ArrayRef<int64_t> at) {
    return numberAt(Max, scores->scoresAt(maximum, at));
  };
  return true;
}

/// A score at which a cap is reached, to the precision of a double.
constexpr double kFar = 1e9;

/// Derives scale and cap from x at the scores 1 and kFar.
bool Softmax::takeScale(double atOne, double far) {
  scale = atOne;
  if (isNear(far, kFar * atOne))
    return true;
  double part = atOne / far;
  if (!(far > 0 && part > 0 && part < 1))
    return false;
  cap = far;
  scale = far * std::atanh(part);
  return true;
}

bool Softmax::checkScores() {
  for (const Place &at : samples()) {
    std::optional<double> zero = maskedAt(at, 0), one = maskedAt(at, 1),
                          some = maskedAt(at, 0.7), far = maskedAt(at, kFar);
    if (!zero || !one || !some || !far)
      return false;
    bool kept = *one != *zero;
    bool addsMask = mask && !getElementTypeOrSelf(mask.getType()).isInteger(1);
    double bias = addsMask ? *valueAt(mask, at) : 0;
    if (kept) {
      if (scale == 0 && !takeScale(*one - *zero, *far - *zero))
        return false;
      if (!isNear(*one - *zero, scaled(1)) || !isNear(*zero, bias) ||
          !isNear(*some, scaled(0.7) + bias) ||
          !isNear(*far, scaled(kFar) + bias))
        return false;
    } else {
      if (addsMask || (!mask && !causal) || (fill && *fill != *zero))
        return false;
      fill = *zero;
    }
    if (causal && kept != (at[keyDim] <= at[queryDim]))
      return false;
    if (mask && !addsMask && kept != (*valueAt(mask, at) != 0))
      return false;
  }
  // A score that the causal mask hides must have weight 0, because keys that no
  // query of a block sees are skipped.
  constexpr double kNothing = -1e4;
  if (causal && fill && *fill > kNothing)
    return false;
  return scale != 0 && (causal || !mask || fill ||
                        !getElementTypeOrSelf(mask.getType()).isInteger(1));
}

bool Softmax::checkSums() {
  auto termAt = [this](const Looped &sum, ArrayRef<int64_t> at) {
    Place loops;
    for (int dim : sum.loops)
      loops.push_back(dim < 0 ? 0 : at[size_t(dim)]);
    return evaluator.inBody(sum.op, termOf<arith::AddFOp>(sum.op), loops);
  };
  auto isTotal = [&](const Looped &sum) {
    return llvm::all_of(samples(), [&](const Place &at) {
      std::optional<double> term = termAt(sum, at), e = weightAt(at);
      return term && e && isNear(*term, *e);
    });
  };
  bool total = false;
  SmallVector<Looped> rest;
  for (const Looped &sum : sums) {
    if (!isTotal(sum)) {
      rest.push_back(sum);
      continue;
    }
    Value result = sum.op->getResult(0);
    evaluator.leaves[result] = [this, result](ArrayRef<int64_t> at) {
      return numberAt(Sum, scores->scoresAt(result, at));
    };
    total = true;
  }
  // The other sums must be of e dp, times a factor that depends on the row
  // only.
  for (const Looped &sum : rest) {
    auto factor = [=, this](ArrayRef<int64_t> at) -> std::optional<double> {
      std::optional<double> term = termAt(sum, at), product = productAt(at);
      if (!term || !product)
        return std::nullopt;
      return *term / *product;
    };
    for (Place at : samples()) {
      std::optional<double> term = termAt(sum, at), product = productAt(at);
      if (!term || !product || (*product == 0 && *term != 0))
        return false;
      if (*product == 0)
        continue;
      Place first = at;
      first[size_t(keyDim)] = 0;
      std::optional<double> here = factor(at), there = factor(first);
      std::optional<double> product0 = productAt(first);
      if (!here || !there ||
          (product0 && *product0 != 0 && !isNear(*here, *there)))
        return false;
    }
    Value result = sum.op->getResult(0);
    evaluator.leaves[result] =
        [this, result, factor](ArrayRef<int64_t> at) -> std::optional<double> {
      Place row = scores->scoresAt(result, at), first = row;
      auto shape =
          cast<RankedTensorType>(scores->product->getResult(0).getType())
              .getShape();
      // Evaluate the factor at a key that is neither masked nor dropped.
      for (int64_t key = 0; key < std::min<int64_t>(shape[keyDim], 64); ++key) {
        first[size_t(keyDim)] = key;
        if (auto product = productAt(first); product && *product != 0) {
          std::optional<double> of = factor(first);
          return of ? std::optional(*of * numberAt(Product, row))
                    : std::nullopt;
        }
      }
      return std::nullopt;
    };
  }
  return total;
}

bool Softmax::agrees(Value value, bool gradient) {
  if (!scores->isFull(value))
    return false;
  for (const Place &at : samples()) {
    std::optional<double> e = weightAt(at), found = valueAt(value, at);
    if (!e || !found)
      return false;
    Place row = rowOf(at, keyDim);
    double total = numberAt(Sum, row), expected = kept * *e / total;
    if (gradient) {
      bool passes = *maskedAt(at, 0) != *maskedAt(at, 1);
      expected *=
          (keptAt(at) * numberAt(Weight, at) - numberAt(Product, row) / total) *
          (passes ? slope(numberAt(Score, at)) : 0);
    } else {
      expected *= keptAt(at);
    }
    if (!isNear(*found, expected))
      return false;
  }
  return true;
}

} // namespace stagewright::pipeline
