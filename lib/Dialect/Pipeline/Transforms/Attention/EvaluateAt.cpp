//===- EvaluateAt.cpp - evaluate one element of a tensor ------------------===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "EvaluateAt.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/Dialect/Utils/IndexingUtils.h"
#include "mlir/IR/Matchers.h"
#include "stagewright/Dialect/LLVM.h"
#include "llvm/ADT/TypeSwitch.h"
#include <cmath>

namespace stagewright::pipeline {

/// Max number of values evaluated for one element.
constexpr unsigned kMostSteps = 20000;

linalg::LinalgOp parallelOf(Value value) {
  auto op = value.getDefiningOp<linalg::LinalgOp>();
  if (!op || isa<linalg::FillOp>(op) || op.getNumReductionLoops() != 0 ||
      !op.hasPureTensorSemantics())
    return {};
  unsigned result = cast<OpResult>(value).getResultNumber();
  AffineMap map = op.getMatchingIndexingMap(op.getDpsInitOperand(result));
  return map.isPermutation() ? op : linalg::LinalgOp();
}

double numberAt(uint64_t seed, ArrayRef<int64_t> place) {
  uint64_t state = seed * 0x9e3779b97f4a7c15ull + 1;
  for (int64_t index : place) {
    // The mixing function of splitmix64.
    state += uint64_t(index) + 0x9e3779b97f4a7c15ull;
    state = (state ^ (state >> 30)) * 0xbf58476d1ce4e5b9ull;
    state = (state ^ (state >> 27)) * 0x94d049bb133111ebull;
    state ^= state >> 31;
  }
  return 0.5 + double(state >> 11) * 0x1p-53;
}

/// Evaluates one operation on numbers; true is 1, false is 0.
static std::optional<double> compute(Operation *op, ArrayRef<double> x) {
  auto compare = [&](auto predicate, int64_t eq, int64_t ne, int64_t lt,
                     int64_t le, int64_t gt,
                     int64_t ge) -> std::optional<double> {
    auto is = int64_t(predicate);
    if (is == eq)
      return x[0] == x[1];
    if (is == ne)
      return x[0] != x[1];
    if (is == lt)
      return x[0] < x[1];
    if (is == le)
      return x[0] <= x[1];
    if (is == gt)
      return x[0] > x[1];
    if (is == ge)
      return x[0] >= x[1];
    return std::nullopt;
  };
  using F = arith::CmpFPredicate;
  using I = arith::CmpIPredicate;
  using Number = std::optional<double>;
  return TypeSwitch<Operation *, Number>(op)
      .Case<arith::AddFOp, arith::AddIOp>([&](auto) { return x[0] + x[1]; })
      .Case<arith::SubFOp, arith::SubIOp>([&](auto) { return x[0] - x[1]; })
      .Case<arith::MulFOp, arith::MulIOp>([&](auto) { return x[0] * x[1]; })
      .Case([&](arith::DivFOp) { return x[0] / x[1]; })
      .Case([&](arith::NegFOp) { return -x[0]; })
      .Case<arith::MaximumFOp, arith::MaxNumFOp>(
          [&](auto) { return std::max(x[0], x[1]); })
      .Case<arith::MinimumFOp, arith::MinNumFOp>(
          [&](auto) { return std::min(x[0], x[1]); })
      .Case([&](math::ExpOp) { return std::exp(x[0]); })
      .Case([&](math::TanhOp) { return std::tanh(x[0]); })
      .Case([&](arith::SelectOp) { return x[0] != 0 ? x[1] : x[2]; })
      .Case<arith::ExtFOp, arith::TruncFOp, arith::SIToFPOp, arith::UIToFPOp,
            arith::IndexCastOp, arith::ExtSIOp, arith::ExtUIOp>(
          [&](auto) { return x[0]; })
      .Case([&](arith::CmpFOp cmp) -> Number {
        return compare(cmp.getPredicate(), int64_t(F::OEQ), int64_t(F::UNE),
                       int64_t(F::OLT), int64_t(F::OLE), int64_t(F::OGT),
                       int64_t(F::OGE));
      })
      .Case([&](arith::CmpIOp cmp) -> Number {
        return compare(cmp.getPredicate(), int64_t(I::eq), int64_t(I::ne),
                       int64_t(I::slt), int64_t(I::sle), int64_t(I::sgt),
                       int64_t(I::sge));
      })
      .Case<arith::AndIOp, arith::OrIOp, arith::XOrIOp>(
          [&](auto logic) -> Number {
            if (!getElementTypeOrSelf(logic.getType()).isInteger(1))
              return std::nullopt;
            bool a = x[0] != 0, b = x[1] != 0;
            return isa<arith::AndIOp>(op)  ? a && b
                   : isa<arith::OrIOp>(op) ? a || b
                                           : a != b;
          })
      .Default([](Operation *) -> Number { return std::nullopt; });
}

/// The element of a constant at `place`.
static std::optional<double> valueOf(Attribute attribute,
                                     ArrayRef<int64_t> place) {
  if (auto number = dyn_cast<FloatAttr>(attribute)) {
    APFloat value = number.getValue();
    bool loses;
    value.convert(APFloat::IEEEdouble(), APFloat::rmNearestTiesToEven, &loses);
    return value.convertToDouble();
  }
  if (auto number = dyn_cast<IntegerAttr>(attribute))
    return number.getType().isInteger(1)
               ? double(number.getValue().getBoolValue())
               : double(number.getValue().getSExtValue());
  auto elements = dyn_cast<DenseElementsAttr>(attribute);
  if (!elements)
    return std::nullopt;
  if (elements.isSplat())
    return valueOf(elements.getSplatValue<Attribute>(), {});
  SmallVector<uint64_t> indices(place.begin(), place.end());
  return valueOf(elements.getValues<Attribute>()[indices], {});
}

std::optional<double> Evaluator::at(Value value, ArrayRef<int64_t> place) {
  steps = kMostSteps;
  return element(value, place);
}

std::optional<double> Evaluator::element(Value value, ArrayRef<int64_t> place) {
  if (steps == 0)
    return std::nullopt;
  --steps;
  if (auto leaf = leaves.find(value); leaf != leaves.end())
    return leaf->second(place);
  Operation *op = value.getDefiningOp();
  if (!op)
    return std::nullopt;
  Attribute constant;
  if (matchPattern(value, m_Constant(&constant)))
    return valueOf(constant, place);
  if (auto fill = dyn_cast<linalg::FillOp>(op))
    return element(fill.getInputs()[0], {});
  if (linalg::LinalgOp op = parallelOf(value)) {
    unsigned result = cast<OpResult>(value).getResultNumber();
    AffineMap map = op.getMatchingIndexingMap(op.getDpsInitOperand(result));
    Place loops(map.getNumDims());
    for (auto [i, index] : llvm::enumerate(place))
      loops[map.getDimPosition(unsigned(i))] = index;
    DenseMap<Value, double> known;
    return body(op, op.getBlock()->getTerminator()->getOperand(result), loops,
                known);
  }
  if (isa<tensor::ExpandShapeOp, tensor::CollapseShapeOp>(op)) {
    auto from = cast<RankedTensorType>(op->getOperand(0).getType());
    auto to = cast<RankedTensorType>(value.getType());
    if (!from.hasStaticShape() || !to.hasStaticShape())
      return std::nullopt;
    int64_t number = linearize(place, computeStrides(to.getShape()));
    return element(op->getOperand(0),
                   delinearize(number, computeStrides(from.getShape())));
  }
  if (isa<tensor::CastOp>(op))
    return element(op->getOperand(0), place);
  if (op->getNumRegions() != 0 || op->getNumResults() != 1 ||
      !isa<RankedTensorType>(value.getType()))
    return std::nullopt;
  // An elementwise operation on tensors.
  SmallVector<double> operands;
  for (Value operand : op->getOperands()) {
    auto number = element(operand, isa<RankedTensorType>(operand.getType())
                                       ? place
                                       : ArrayRef<int64_t>());
    if (!number)
      return std::nullopt;
    operands.push_back(*number);
  }
  return compute(op, operands);
}

std::optional<double> Evaluator::inBody(linalg::LinalgOp op, Value value,
                                        ArrayRef<int64_t> loops) {
  steps = kMostSteps;
  DenseMap<Value, double> known;
  return body(op, value, loops, known);
}

/// The indices of the element of `operand` that `op` reads at indices `loops`.
static std::optional<Place> placeOf(linalg::LinalgOp op, OpOperand &operand,
                                    ArrayRef<int64_t> loops) {
  Place place;
  for (AffineExpr expr : op.getMatchingIndexingMap(&operand).getResults()) {
    if (auto dim = dyn_cast<AffineDimExpr>(expr))
      place.push_back(loops[dim.getPosition()]);
    else if (auto constant = dyn_cast<AffineConstantExpr>(expr))
      place.push_back(constant.getValue());
    else
      return std::nullopt;
  }
  return place;
}

std::optional<double> Evaluator::body(linalg::LinalgOp op, Value value,
                                      ArrayRef<int64_t> loops,
                                      DenseMap<Value, double> &known) {
  if (auto it = known.find(value); it != known.end())
    return it->second;
  std::optional<double> number;
  Operation *inner = value.getDefiningOp();
  if (auto argument = dyn_cast<BlockArgument>(value);
      argument && argument.getOwner() == op.getBlock()) {
    OpOperand &operand = op->getOpOperand(argument.getArgNumber());
    std::optional<Place> place = placeOf(op, operand, loops);
    if (place && !op.isDpsInit(&operand))
      number = element(operand.get(), *place);
  } else if (auto index = value.getDefiningOp<linalg::IndexOp>()) {
    number = double(loops[index.getDim()]);
  } else if (inner && inner->getBlock() == op.getBlock() &&
             !inner->hasTrait<OpTrait::ConstantLike>()) {
    SmallVector<double> operands;
    for (Value operand : inner->getOperands()) {
      std::optional<double> each = body(op, operand, loops, known);
      if (!each)
        return std::nullopt;
      operands.push_back(*each);
    }
    number = compute(inner, operands);
  } else {
    number = element(value, {});
  }
  if (number)
    known[value] = *number;
  return number;
}

} // namespace stagewright::pipeline
