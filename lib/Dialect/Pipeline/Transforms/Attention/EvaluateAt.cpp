//===- EvaluateAt.cpp - evaluate one element of a tensor ------------------===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "EvaluateAt.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/Dialect/Utils/IndexingUtils.h"
#include "mlir/IR/Matchers.h"
#include "stagewright/Analysis/EvaluateScalar.h"
#include "stagewright/Dialect/LLVM.h"

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
  return evaluateScalar(op, operands);
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
    number = evaluateScalar(inner, operands);
  } else {
    number = element(value, {});
  }
  if (number)
    known[value] = *number;
  return number;
}

} // namespace stagewright::pipeline
